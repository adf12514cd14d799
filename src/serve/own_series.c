/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over time, for charts: /api/v1/series and /api/v1/heatmap. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "serve/answer.h"
#include "serve/own.h"

#define HOUR_NS UINT64_C(3600000000000)
#define MINUTE_NS UINT64_C(60000000000)
#define MINUTES_FROM_NS (2 * HOUR_NS) /* longer ranges have steps of whole minutes */
#define STEPS 60		      /* unless a step is asked for */
#define STEPS_MAX 2000
#define BIN_BITS 4 /* of the heat map: eight bins for each doubling of the duration */

#define STEP_WHY "step is a time such as 30s, and a range has 2000 steps at most"
#define MUCH_WHY "there are too many operations and steps: ask for one service or a longer step"

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

struct own_steps own_steps_of(uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
	uint64_t unit_ns = to_ns - from_ns > MINUTES_FROM_NS ? MINUTE_NS : STORE_SUMS_STEP_NS;

	step_ns = round_up(step_ns ? step_ns : 1, unit_ns); /* of a range of a few ns, too */
	from_ns -= from_ns % step_ns;
	return (struct own_steps){from_ns, to_ns, step_ns, (to_ns - from_ns - 1) / step_ns + 1};
}

/* A reason why the parameters are refused; NULL: they are not. */
static const char *steps_read(struct query *q, struct own_steps *out)
{
	const char *text = query_value(q, "step");
	uint64_t now_ns = own_now_ns(), from_ns = now_ns - HOUR_NS, to_ns = now_ns, step_ns = 0;

	if (!own_range(q, &from_ns, &to_ns) || from_ns >= to_ns)
		return OWN_RANGE_WHY;
	if (text && (units_parse_duration(text, &step_ns) || !step_ns))
		return STEP_WHY;
	*out = own_steps_of(from_ns, to_ns, step_ns ? step_ns : (to_ns - from_ns) / STEPS + 1);
	return out->count > STEPS_MAX ? STEP_WHY : NULL;
}

static void steps_write(struct json *j, const struct own_steps *steps)
{
	json_u64(j, "version", 1);
	json_u64(j, "from_unix_ns", steps->from_ns);
	json_u64(j, "to_unix_ns", steps->to_ns);
	json_u64(j, "step_ns", steps->step_ns);
	json_u64(j, "steps", steps->count);
}

static int sums_find(struct query *q, const struct own_steps *steps, unsigned int by,
		     struct store_sums *out, const char **why)
{
	const char *kind = query_value(q, "kind");
	struct store_sums_query ask = {.service = query_value(q, "service"),
				       .operation = query_value(q, "operation"),
				       .kind = kind ? received_kind_parse(kind) : -1,
				       .from_ns = steps->from_ns,
				       .to_ns = steps->to_ns,
				       .by = STORE_BY_TIME | by,
				       .step_ns = steps->step_ns};
	int err;

	if (kind && ask.kind < 0) {
		*why = "kind is server, client, internal, producer or consumer";
		return 0;
	}
	err = store_sums(q->source->store, &ask, q->pool, out, q->e);
	if (err == -E2BIG) {
		*why = MUCH_WHY;
		return 0;
	}
	return err;
}

/* ---- series ---- */

/* Sums of one operation, in the order of time. */
struct run {
	const struct store_sum *sums;
	size_t count;
};

bool own_same_operation(const struct store_sum *a, const struct store_sum *b)
{
	return a->kind == b->kind && strcmp(a->service, b->service) == 0 &&
	       strcmp(a->operation, b->operation) == 0;
}

static uint64_t count_of(const struct store_sum *sum)
{
	return sum->count;
}

static uint64_t seen_of(const struct store_sum *sum)
{
	return sum->seen;
}

static uint64_t errors_of(const struct store_sum *sum)
{
	return sum->errors;
}

static uint64_t p50_of(const struct store_sum *sum)
{
	return own_quantile(sum, 5000);
}

static uint64_t p99_of(const struct store_sum *sum)
{
	return own_quantile(sum, 9900);
}

/* A value for each step; 0 where there was no span. */
static void column_write(struct json *j, const char *key, const struct run *run,
			 const struct own_steps *steps,
			 uint64_t (*value_of)(const struct store_sum *))
{
	size_t at = 0;

	json_array_begin(j, key);
	for (size_t i = 0; i < steps->count; i++) {
		uint64_t begin_ns = steps->from_ns + i * steps->step_ns;
		bool is_there = at < run->count && run->sums[at].begin_ns == begin_ns;

		json_u64(j, NULL, is_there ? value_of(&run->sums[at]) : 0);
		at += is_there;
	}
	json_array_end(j);
}

static void run_write(struct json *j, const struct run *run, const struct own_steps *steps,
		      bool is_brief)
{
	json_object_begin(j, NULL);
	json_string(j, "service", run->sums->service);
	json_string(j, "operation", run->sums->operation);
	json_string(j, "kind", received_kind_name(run->sums->kind));
	column_write(j, "count", run, steps, count_of);
	if (!is_brief) {
		column_write(j, "seen", run, steps, seen_of);
		column_write(j, "errors", run, steps, errors_of);
		column_write(j, "p50_ns", run, steps, p50_of);
	}
	column_write(j, "p99_ns", run, steps, p99_of);
	json_object_end(j);
}

void own_series_write(struct json *j, const char *key, const struct store_sums *sums,
		      const struct own_steps *steps, bool is_brief)
{
	json_object_begin(j, key);
	steps_write(j, steps);
	json_array_begin_lines(j, "operations");
	for (size_t i = 0; i < sums->count;) {
		struct run run = {&sums->data[i], 1};

		while (i + run.count < sums->count &&
		       own_same_operation(run.sums, &run.sums[run.count]))
			run.count++;
		run_write(j, &run, steps, is_brief);
		i += run.count;
	}
	json_array_end(j);
	json_object_end(j);
}

static int series_write(struct json *j, const struct store_sums *sums,
			const struct own_steps *steps)
{
	own_series_write(j, NULL, sums, steps, false);
	return 0;
}

/* ---- heat map ---- */

/* The lowest and the highest bin with spans. False: there is none. */
static bool bins_find(const struct store_sums *sums, uint32_t *first, uint32_t *last)
{
	bool any = false;

	for (size_t i = 0; i < sums->count; i++) {
		uint64_t end_ns, count;

		for (size_t at = 0;
		     durations_next(&sums->data[i].durations, &at, &end_ns, &count);) {
			uint32_t bin = log_bucket(end_ns, BIN_BITS);

			*first = !any || bin < *first ? bin : *first;
			*last = !any || bin > *last ? bin : *last;
			any = true;
		}
	}
	return any;
}

/* The durations of each bin: from the end of the one before, exclusive, to its own end. */
static void bins_write(struct json *j, bool any, uint32_t first, uint32_t last)
{
	json_array_begin(j, "bin_ends_ns");
	for (uint32_t bin = first; any && bin <= last; bin++)
		json_u64(j, NULL, log_bucket_end(bin, BIN_BITS));
	json_array_end(j);
}

static void cell_write(struct json *j, uint32_t bin, uint64_t count)
{
	if (!count)
		return;
	json_array_begin(j, NULL);
	json_u64(j, NULL, bin);
	json_u64(j, NULL, count);
	json_array_end(j);
}

/* The bins with spans, each as its place in bin_ends_ns and the number of its spans. */
static void cells_write(struct json *j, const struct durations *d, uint32_t first)
{
	uint64_t end_ns, count, in_bin = 0;
	uint32_t bin = first;

	json_array_begin(j, "cells");
	for (size_t at = 0; durations_next(d, &at, &end_ns, &count);) {
		uint32_t next = log_bucket(end_ns, BIN_BITS);

		if (next != bin) {
			cell_write(j, bin - first, in_bin);
			in_bin = 0;
			bin = next;
		}
		in_bin += count;
	}
	cell_write(j, bin - first, in_bin);
	json_array_end(j);
}

static void sum_write(struct json *j, const struct store_sum *sum)
{
	json_u64(j, "count", sum->count);
	json_u64(j, "seen", sum->seen);
	json_u64(j, "errors", sum->errors);
	json_u64(j, "p50_ns", own_quantile(sum, 5000));
	json_u64(j, "p95_ns", own_quantile(sum, 9500));
	json_u64(j, "p99_ns", own_quantile(sum, 9900));
	json_u64(j, "max_ns", sum->max_ns);
	own_split_write(j, sum);
}

static int total_write(struct json *j, const struct store_sums *sums)
{
	struct store_sum total = {0};
	int err = 0;

	for (size_t i = 0; i < sums->count && !err; i++)
		err = own_sum_add(&total, &sums->data[i]);
	json_object_begin(j, "total");
	sum_write(j, &total);
	json_object_end(j);
	durations_free(&total.durations);
	return err;
}

static int heatmap_write(struct json *j, const struct store_sums *sums,
			 const struct own_steps *steps)
{
	uint32_t first = 0, last = 0;
	bool any = bins_find(sums, &first, &last);
	int err;

	json_object_begin(j, NULL);
	steps_write(j, steps);
	bins_write(j, any, first, last);
	err = total_write(j, sums);
	json_array_begin_lines(j, "columns");
	for (size_t i = 0; i < sums->count; i++) {
		if (!sums->data[i].count)
			continue;
		json_object_begin(j, NULL);
		json_u64(j, "begin_unix_ns", sums->data[i].begin_ns);
		sum_write(j, &sums->data[i]);
		cells_write(j, &sums->data[i].durations, first);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	return err;
}

static int over_time_answer(struct query *q, unsigned int by,
			    int (*write)(struct json *, const struct store_sums *,
					 const struct own_steps *))
{
	struct store_sums sums = {0};
	struct own_steps steps;
	const char *why = steps_read(q, &steps);
	struct json j;
	int err;

	if (why)
		return own_error(q, MHD_HTTP_BAD_REQUEST, why);
	err = sums_find(q, &steps, by, &sums, &why);
	if (!err && why) {
		err = own_error(q, MHD_HTTP_BAD_REQUEST, why);
	} else if (!err) {
		json_init_bytes(&j, q->body);
		err = write(&j, &sums, &steps);
		err = json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
	}
	store_sums_free(&sums);
	return err;
}

int own_series(struct query *q)
{
	return over_time_answer(q, STORE_BY_SERVICE | STORE_BY_OPERATION | STORE_BY_KIND,
				series_write);
}

int own_heatmap(struct query *q)
{
	return over_time_answer(q, 0, heatmap_write);
}
