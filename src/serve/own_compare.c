/* SPDX-License-Identifier: Apache-2.0 */
/* Two sets of spans of an operation, or two traces, and what tells them apart: /api/v1/compare. */
#include <errno.h>

#include "base/json.h"
#include "base/units.h"
#include "serve/answer.h"
#include "serve/compare.h"
#include "serve/own.h"
#include "serve/parameters.h"

#define HOUR_NS UINT64_C(3600000000000)
#define TRACES 300 /* of each side, unless asked for otherwise */
#define ROWS_MAX 200

static const char *duration_read(const char *text, uint64_t *ns)
{
	return text && units_parse_duration(text, ns) ? "a duration is a time such as 5ms" : NULL;
}

/* The reason why the parameters are refused; NULL: they are not. */
static const char *sides_read(struct query *q, struct gather_query sides[2])
{
	const char *kind = query_value(q, "kind"), *limit = query_value(q, "limit"), *why;
	uint64_t now_ns = own_now_ns(), traces = TRACES;
	struct gather_query *a = &sides[0], *b = &sides[1];

	*a = (struct gather_query){.service = query_value(q, "service"),
				   .operation = query_value(q, "operation"),
				   .kind = kind ? received_kind_parse(kind) : -1,
				   .from_ns = now_ns - HOUR_NS,
				   .to_ns = now_ns,
				   .until_ns = clock_now_ns() + GATHER_ANSWER_NS,
				   .sets_behind = 1};
	if (!a->service || !a->operation)
		return "service and operation are needed";
	if (kind && a->kind < 0)
		return "kind is server, client, internal, producer or consumer";
	if (limit && (!number_parse(limit, GATHER_TRACES_MAX, &traces) || !traces))
		return "limit is a number of traces from 1 to 1000";
	a->traces = traces;
	if (!own_range(q, &a->from_ns, &a->to_ns))
		return OWN_RANGE_WHY;
	*b = *a;
	b->sets_behind = 0;
	if (!own_moment(query_value(q, "base_from"), now_ns, &b->from_ns) ||
	    !own_moment(query_value(q, "base_to"), now_ns, &b->to_ns))
		return OWN_RANGE_WHY;
	if (a->from_ns >= a->to_ns || b->from_ns >= b->to_ns)
		return OWN_RANGE_WHY;
	why = duration_read(query_value(q, "min_duration"), &a->duration_from_ns);
	why = why ? why : duration_read(query_value(q, "max_duration"), &a->duration_to_ns);
	why = why ? why : duration_read(query_value(q, "base_min_duration"), &b->duration_from_ns);
	return why ? why : duration_read(query_value(q, "base_max_duration"), &b->duration_to_ns);
}

/* A side of the answer. */
struct told_side {
	const struct compared_side *compared;
	const struct gathered *gathered;
	const struct gather_query *asked; /* the spans of which time; NULL: those of a trace */
};

static void side_write(struct query *q, struct json *j, const char *key,
		       const struct told_side *told)
{
	const struct compared_side *side = told->compared;
	uint64_t from_ns, to_ns;

	own_spans_range(&told->gathered->batch, &from_ns, &to_ns);
	json_object_begin(j, key);
	json_u64(j, "spans", side->spans);
	json_u64(j, "mean_ns", side->spans ? side->total_ns / side->spans : 0);
	json_u64(j, "measured", side->measured);
	json_u64(j, "detailed", side->detailed);
	if (told->gathered->is_partial || side->is_partial)
		json_bool(j, "partial", true);
	own_coverage_write(q, j, told->asked ? told->asked->from_ns : from_ns,
			   told->asked ? told->asked->to_ns : to_ns);
	json_object_end(j);
}

static void difference_side_write(struct json *j, const char *key,
				  const struct difference_side *side)
{
	json_object_begin(j, key);
	json_u64(j, "count", side->count);
	json_u64(j, "total_ns", side->total_ns);
	json_double(j, "mean_ns", side->mean_ns);
	json_array_begin(j, "bins");
	for (unsigned int i = 0; i < DIFFERENCE_BINS; i++) {
		if (!side->bins[i])
			continue;
		json_array_begin(j, NULL);
		json_u64(j, NULL, UINT64_C(2) << i);
		json_u64(j, NULL, side->bins[i]);
		json_array_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void difference_write(struct json *j, const struct difference *d)
{
	static const char *const kinds[] = {[DIFFERENCE_PART] = "part",
					    [DIFFERENCE_PLACE] = "place",
					    [DIFFERENCE_CALL] = "call",
					    [DIFFERENCE_ATTRIBUTE] = "attribute",
					    [DIFFERENCE_OWN] = "own"};

	json_object_begin(j, NULL);
	json_string(j, "kind", kinds[d->kind]);
	json_string(j, "key", d->key);
	json_string(j, "value", d->value);
	if (d->kind == DIFFERENCE_OWN)
		json_string(j, "service", d->service);
	json_double(j, "explains_ns", d->explains_ns);
	difference_side_write(j, "a", &d->sides[0]);
	difference_side_write(j, "b", &d->sides[1]);
	json_object_end(j);
}

/* `asked`: both sides; NULL: two traces. */
static int comparison_write(struct query *q, const struct comparison *c,
			    const struct gathered sides[2], const struct gather_query *asked)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	for (unsigned int i = 0; i < 2; i++)
		side_write(q, &j, i ? "b" : "a",
			   &(struct told_side){&c->sides[i], &sides[i], asked ? &asked[i] : NULL});
	json_array_begin_lines(&j, "differences");
	for (size_t i = 0; i < c->list.count && i < ROWS_MAX && c->list.data[i].explains_ns != 0;
	     i++)
		difference_write(&j, &c->list.data[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

/* Two sets; the one that is looked at is no part of the other one. */
static int sets_gather(struct query *q, const struct gather_query sides[2], struct comparison *c,
		       struct gathered gathered[2])
{
	int err = 0;

	for (unsigned int side = 0; side < 2 && !err; side++) {
		err = gather(q, &sides[side], &gathered[side]);
		err = err ? err : comparison_add(c, side, &gathered[side], side ? &sides[0] : NULL);
	}
	return err;
}

/* Two traces. */
static int traces_gather(struct query *q, struct comparison *c, struct gathered gathered[2])
{
	const char *const ids[] = {query_value(q, "trace"), query_value(q, "base_trace")};
	int err = 0;

	for (unsigned int side = 0; side < 2 && !err; side++) {
		err = own_trace_gather(q, ids[side], &gathered[side]);
		err = err ? err : comparison_add(c, side, &gathered[side], NULL);
	}
	return err;
}

int own_compare(struct query *q)
{
	bool are_traces = query_value(q, "trace") != NULL;
	struct comparison c = {.pool = q->pool};
	struct gathered gathered[2] = {0};
	struct gather_query sides[2];
	const char *why = are_traces ? NULL : sides_read(q, sides);
	int err;

	if (why)
		return own_error(q, MHD_HTTP_BAD_REQUEST, why);
	err = are_traces ? traces_gather(q, &c, gathered) : sets_gather(q, sides, &c, gathered);
	if (!err) {
		comparison_finish(&c);
		err = comparison_write(q, &c, gathered, are_traces ? NULL : sides);
	}
	for (unsigned int side = 0; side < 2; side++)
		gathered_free(&gathered[side]);
	comparison_free(&c);
	return are_traces && err < 0 ? own_trace_refuse(q, err) : err;
}
