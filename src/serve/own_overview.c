/* SPDX-License-Identifier: Apache-2.0 */
/* All operations now, before, and over time: /api/v1/overview. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "serve/answer.h"
#include "serve/own.h"

#define HOUR_NS UINT64_C(3600000000000)
#define WEEK_NS (7 * 24 * HOUR_NS)
#define STEPS 60
#define FIRST_PART 5	  /* of what there is, one in so many is the first of it */
#define SEEN_COMPARED 40u /* requests of an operation that can be compared with later ones */
#define MUCH_WHY "there are too many operations: ask for a shorter time"
#define BY_OPERATION (STORE_BY_SERVICE | STORE_BY_OPERATION | STORE_BY_KIND)

/* What now is compared with. */
static const char week[] = "week", before[] = "before", first[] = "first", nothing[] = "nothing";

struct overview {
	struct own_steps steps;
	struct store_sums line, now, then; /* each step; all of a range */
	struct store_range now_range, then_range;
	const char *compared;
};

static int sums_find(struct query *q, unsigned int by, const struct store_range *range,
		     uint64_t step_ns, struct store_sums *out)
{
	const struct store_sums_query ask = {.kind = -1,
					     .from_ns = range->from_ns,
					     .to_ns = range->to_ns,
					     .by = BY_OPERATION | by,
					     .step_ns = step_ns};

	return store_sums(q->source->store, &ask, q->pool, out, q->e);
}

/* Adds up the steps in a range, for each operation that has any. */
static int range_sum(const struct store_sums *line, const struct store_range *range,
		     struct store_sums *out)
{
	int err = 0;

	for (size_t i = 0; i < line->count && !err; i++) {
		const struct store_sum *step = &line->data[i];
		struct store_sum *last = out->count ? &out->data[out->count - 1] : NULL;

		if (step->begin_ns < range->from_ns || step->begin_ns >= range->to_ns)
			continue;
		if (!last || !own_same_operation(last, step)) {
			const struct store_sum made = {.service = step->service,
						       .operation = step->operation,
						       .kind = step->kind};

			err = vec_push(out, made);
			last = err ? NULL : &out->data[out->count - 1];
		}
		err = err ? err : own_sum_add(last, step);
	}
	return err;
}

/* The begin of the first step with a span; the end of the range if there is none. */
static uint64_t first_ns(const struct store_sums *line, const struct own_steps *steps)
{
	uint64_t least = steps->to_ns;

	for (size_t i = 0; i < line->count; i++) {
		if (line->data[i].count && line->data[i].begin_ns < least)
			least = line->data[i].begin_ns;
	}
	return least;
}

/* The end of the step in which an operation has requests enough; the end of the range: none has. */
static uint64_t enough_ns(const struct store_sums *line, const struct own_steps *steps)
{
	uint64_t least = steps->to_ns, seen = 0;

	for (size_t i = 0; i < line->count; i++) {
		const struct store_sum *step = &line->data[i];

		if (i && !own_same_operation(step, step - 1))
			seen = 0;
		seen += step->seen;
		if (seen >= SEEN_COMPARED && step->begin_ns + steps->step_ns < least)
			least = step->begin_ns + steps->step_ns;
	}
	return least;
}

bool own_first_part(const struct store_sums *line, const struct own_steps *steps,
		    struct store_range *out)
{
	uint64_t from_ns = first_ns(line, steps), to_ns = enough_ns(line, steps);
	uint64_t end_ns = steps->from_ns + steps->count * steps->step_ns;
	uint64_t part = ((end_ns - from_ns) / steps->step_ns + FIRST_PART / 2) / FIRST_PART;

	if (to_ns < from_ns + part * steps->step_ns)
		to_ns = from_ns + part * steps->step_ns;
	*out = (struct store_range){from_ns, to_ns};
	return to_ns < steps->to_ns;
}

/* Compares with the first of what there is. */
static int first_compare(struct overview *o)
{
	int err;

	if (!own_first_part(&o->line, &o->steps, &o->then_range))
		return 0;
	o->now_range.from_ns = o->then_range.to_ns;
	o->compared = first;
	err = range_sum(&o->line, &o->then_range, &o->then);
	err = err ? err : range_sum(&o->line, &o->now_range, &o->now);
	if (!err && !o->now.count) { /* all came in the first part */
		store_sums_free(&o->then);
		o->now_range.from_ns = o->steps.from_ns;
		o->compared = nothing;
	}
	return err;
}

/* The same time a week ago, else as long before, an hour at least, else the first part of it. */
static int compare(struct query *q, struct overview *o)
{
	const struct own_steps *s = &o->steps;
	uint64_t asked_ns = (s->to_ns - s->from_ns) / s->step_ns * s->step_ns;
	uint64_t long_ns = asked_ns < HOUR_NS ? HOUR_NS : asked_ns;
	const struct store_range ranges[] = {{s->from_ns - WEEK_NS, s->to_ns - WEEK_NS},
					     {s->from_ns - long_ns, s->from_ns}};
	int err = 0;

	for (size_t i = 0; i < 2 && !err && !o->then.count; i++) {
		o->compared = i ? before : week;
		o->then_range = ranges[i];
		err = sums_find(q, 0, &ranges[i], 0, &o->then);
	}
	if (err || o->then.count)
		return err;
	o->compared = nothing;
	return first_compare(o);
}

static int overview_find(struct query *q, struct overview *o)
{
	int err;

	o->now_range = (struct store_range){o->steps.from_ns, o->steps.to_ns};
	err = sums_find(q, STORE_BY_TIME, &o->now_range, o->steps.step_ns, &o->line);
	err = err ? err : compare(q, o);
	if (!err && o->compared != first)
		err = range_sum(&o->line, &o->now_range, &o->now);
	return err;
}

static int overview_write(struct query *q, const struct overview *o)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_string(&j, "compared", o->compared);
	own_sums_write(&j, "now", &o->now, &o->now_range, true);
	own_sums_write(&j, "before", &o->then, &o->then_range, true);
	own_series_write(&j, "series", &o->line, &o->steps, true);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

int own_overview(struct query *q)
{
	const char *from = *q->word ? q->word : query_value(q, "from");
	uint64_t to_ns = own_now_ns(), from_ns = to_ns - HOUR_NS;
	struct overview o = {0};
	int err;

	if (!own_moment(from, to_ns, &from_ns) || from_ns >= to_ns || from_ns < 2 * WEEK_NS)
		return own_error(q, MHD_HTTP_BAD_REQUEST, OWN_RANGE_WHY);
	o.steps = own_steps_of(from_ns, to_ns, (to_ns - from_ns) / STEPS);
	err = overview_find(q, &o);
	if (err == -E2BIG)
		err = own_error(q, MHD_HTTP_BAD_REQUEST, MUCH_WHY);
	else
		err = err ? err : overview_write(q, &o);
	store_sums_free(&o.line);
	store_sums_free(&o.now);
	store_sums_free(&o.then);
	return err;
}
