/* SPDX-License-Identifier: Apache-2.0 */
#include "up/nest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

#define ANCESTORS_MAX 64
#define OPEN_MAX 256  /* spans that overlap at one time */
#define SLACK_NS 2000 /* a child may end so much behind its parent: two readings of a clock */

struct ids {
	struct trace_id trace;
	uint64_t span_id;
};

int nest_know(struct bytes_map *known, struct nested *span)
{
	const struct ids ids = {span->trace, span->span_id};

	return bytes_map_put(known, &ids, sizeof(ids), span);
}

const struct nested *nest_known(const struct bytes_map *known, const struct nested *span)
{
	const struct ids ids = {span->trace, span->span_id};

	return bytes_map_get(known, &ids, sizeof(ids));
}

static const struct nested *parent_of(const struct bytes_map *known, const struct nested *span)
{
	const struct ids ids = {span->trace, span->parent_id};

	return span->parent_id ? bytes_map_get(known, &ids, sizeof(ids)) : NULL;
}

static bool is_ancestor(const struct bytes_map *known, const struct nested *above,
			const struct nested *span)
{
	for (unsigned int i = 0; i < ANCESTORS_MAX && span; i++) {
		if (span->parent_id == above->span_id && span->trace.high == above->trace.high &&
		    span->trace.low == above->trace.low)
			return true;
		span = parent_of(known, span);
	}
	return false;
}

static int nested_compare(const void *a, const void *b)
{
	const struct nested *x = *(struct nested *const *)a, *y = *(struct nested *const *)b;

	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(y->end_ns, x->end_ns);
	if (x->parent_id == y->span_id || y->parent_id == x->span_id)
		return x->parent_id == y->span_id ? 1 : -1;
	COMPARE(x->span_id, y->span_id);
	return 0;
}

/* Spans that began and have not ended, the outer ones first. */
struct open_spans {
	struct nested *spans[OPEN_MAX];
	size_t numbers[OPEN_MAX];
	size_t count;
};

static void ended_drop(struct open_spans *open, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < open->count; i++) {
		if (open->spans[i]->end_ns <= now_ns)
			continue;
		open->spans[left] = open->spans[i];
		open->numbers[left++] = open->numbers[i];
	}
	open->count = left;
}

/* Judges a span by those that are open when it begins. */
static void span_judge(const struct bytes_map *known, struct open_spans *open, struct nested *span)
{
	for (size_t i = open->count; i-- > 0;) {
		struct nested *above = open->spans[i];

		bool lies_in = is_ancestor(known, above, span) &&
			       span->end_ns <= above->end_ns + SLACK_NS;

		if (lies_in && !above->is_ambiguous)
			break; /* those further out are ancestors of both */
		if (!lies_in)
			span->is_ambiguous = above->is_ambiguous = true;
	}
}

static void all_judge(struct nest *n, const struct bytes_map *known)
{
	struct open_spans open = {0};

	for (size_t i = 0; i < n->spans.count; i++) {
		struct nested *span = n->spans.data[i];

		ended_drop(&open, span->begin_ns);
		span_judge(known, &open, span);
		if (open.count == OPEN_MAX) {
			span->is_ambiguous = true;
			continue;
		}
		open.spans[open.count] = span;
		open.numbers[open.count++] = i;
	}
}

static int stretch_add(struct nest *n, uint64_t from_ns, uint64_t to_ns, size_t owner)
{
	if (from_ns >= to_ns)
		return 0;
	if (vec_push(&n->owners, owner))
		return -ENOMEM;
	return vec_push(&n->stretches, (struct meter_stretch){from_ns, to_ns});
}

/* Ends the spans that are over by then, and gives each the time that it was the innermost. */
static int open_end(struct nest *n, struct open_spans *open, uint64_t *at_ns, uint64_t now_ns)
{
	int err = 0;

	while (!err && open->count && open->spans[open->count - 1]->end_ns <= now_ns) {
		uint64_t end_ns = open->spans[open->count - 1]->end_ns;

		err = stretch_add(n, *at_ns, end_ns, open->numbers[open->count - 1]);
		*at_ns = end_ns > *at_ns ? end_ns : *at_ns;
		open->count--;
	}
	if (!err && open->count && now_ns > *at_ns && now_ns != UINT64_MAX)
		err = stretch_add(n, *at_ns, now_ns, open->numbers[open->count - 1]);
	if (now_ns > *at_ns)
		*at_ns = now_ns;
	return err;
}

static int stretches_make(struct nest *n)
{
	struct open_spans open = {0};
	uint64_t at_ns = 0;
	int err = 0;

	for (size_t i = 0; i < n->spans.count && !err; i++) {
		struct nested *span = n->spans.data[i];

		if (span->is_ambiguous || span->begin_ns >= span->end_ns)
			continue;
		err = open_end(n, &open, &at_ns, span->begin_ns);
		ended_drop(&open, span->begin_ns); /* those that a child outlives a little */
		span->up = open.count ? open.numbers[open.count - 1] + 1 : 0;
		open.spans[open.count] = span;
		open.numbers[open.count++] = i;
	}
	return err ? err : open_end(n, &open, &at_ns, UINT64_MAX);
}

int nest_find(struct nest *n, const struct bytes_map *known)
{
	n->stretches.count = n->owners.count = 0;
	if (n->spans.count)
		qsort(n->spans.data, n->spans.count, sizeof(*n->spans.data), nested_compare);
	for (size_t i = 0; i < n->spans.count; i++)
		n->spans.data[i]->up = 0;
	all_judge(n, known);
	return stretches_make(n);
}

void nest_free(struct nest *n)
{
	vec_free(&n->spans);
	vec_free(&n->stretches);
	vec_free(&n->owners);
}
