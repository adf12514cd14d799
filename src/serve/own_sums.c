/* SPDX-License-Identifier: Apache-2.0 */
/* Services and operations with their sums: /api/v1/services and /api/v1/operations. */
#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "serve/answer.h"
#include "serve/own.h"

#define HOUR_NS UINT64_C(3600000000000)

void own_split_write(struct json *j, const struct store_sum *sum)
{
	json_u64(j, "measured", sum->measured);
	if (!sum->measured)
		return;
	json_object_begin(j, "time");
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", split_part_name(i));
		json_u64(j, key, (uint64_t)sum->time.ns[i] / sum->measured);
	}
	json_object_end(j);
}

uint64_t own_quantile(const struct store_sum *sum, unsigned int per_10000)
{
	uint64_t quantile = durations_quantile(&sum->durations, per_10000);

	return quantile < sum->max_ns ? quantile : sum->max_ns;
}

static void sum_write(struct json *j, const struct store_sum *sum, double seconds)
{
	json_u64(j, "count", sum->count);
	json_u64(j, "seen", sum->seen);
	json_u64(j, "errors", sum->errors);
	json_double(j, "rate", seconds > 0 ? (double)sum->count / seconds : 0);
	json_u64(j, "mean_ns", sum->count ? sum->total_ns / sum->count : 0);
	json_u64(j, "p50_ns", own_quantile(sum, 5000));
	json_u64(j, "p90_ns", own_quantile(sum, 9000));
	json_u64(j, "p99_ns", own_quantile(sum, 9900));
	json_u64(j, "max_ns", sum->max_ns);
	own_split_write(j, sum);
	json_u64(j, "p95_ns", own_quantile(sum, 9500));
}

int own_sum_add(struct store_sum *to, const struct store_sum *more)
{
	to->count += more->count;
	to->seen += more->seen;
	to->errors += more->errors;
	to->total_ns += more->total_ns;
	to->measured += more->measured;
	to->measured_seen += more->measured_seen;
	to->max_ns = more->max_ns > to->max_ns ? more->max_ns : to->max_ns;
	split_add(&to->time, &more->time);
	return durations_merge(&to->durations, &more->durations);
}

static void list_write(struct json *j, const struct store_sums *sums, bool of_operations,
		       double seconds)
{
	json_array_begin_lines(j, of_operations ? "operations" : "services");
	for (size_t i = 0; i < sums->count; i++) {
		const struct store_sum *sum = &sums->data[i];

		if (!sum->count)
			continue;
		json_object_begin(j, NULL);
		json_string(j, "service", sum->service);
		if (of_operations) {
			json_string(j, "operation", sum->operation);
			json_string(j, "kind", received_kind_name(sum->kind));
		}
		sum_write(j, sum, seconds);
		json_object_end(j);
	}
	json_array_end(j);
}

void own_sums_write(struct json *j, const char *key, const struct store_sums *sums,
		    const struct store_range *range, bool of_operations)
{
	json_object_begin(j, key);
	json_u64(j, "version", 1);
	json_u64(j, "from_unix_ns", range->from_ns);
	json_u64(j, "to_unix_ns", range->to_ns);
	list_write(j, sums, of_operations, (double)(range->to_ns - range->from_ns) / 1e9);
	json_object_end(j);
}

static int sums_answer(struct query *q, bool of_operations)
{
	uint64_t now_ns = own_now_ns();
	struct store_sums_query ask = {
		.service = query_value(q, "service"),
		.kind = -1,
		.from_ns = now_ns - HOUR_NS,
		.to_ns = now_ns,
		.by = STORE_BY_SERVICE | (of_operations ? STORE_BY_OPERATION | STORE_BY_KIND : 0)};
	struct store_sums sums = {0};
	struct json j;
	int err;

	if (!own_range(q, &ask.from_ns, &ask.to_ns) || ask.from_ns >= ask.to_ns)
		return own_error(q, MHD_HTTP_BAD_REQUEST, OWN_RANGE_WHY);
	/* whole steps, so that the rate is that of the range that was summed up */
	ask.from_ns -= ask.from_ns % STORE_SUMS_STEP_NS;
	err = store_sums(q->source->store, &ask, q->pool, &sums, q->e);
	if (!err) {
		json_init_bytes(&j, q->body);
		own_sums_write(&j, NULL, &sums, &(struct store_range){ask.from_ns, ask.to_ns},
			       of_operations);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	store_sums_free(&sums);
	return err;
}

int own_services(struct query *q)
{
	return sums_answer(q, false);
}

int own_operations(struct query *q)
{
	return sums_answer(q, true);
}
