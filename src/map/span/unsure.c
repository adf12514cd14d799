/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing says which span a thread had in a gap, nor behind it until the first record that names
 * the span of that thread. The same holds at the begin of a recording, and where a program lost
 * records (losses.c).
 */
#include "map/span/unsure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/partial.h"

/* Whether records say that the span had begun, so that the thread can have had it. */
static bool span_was_there(const struct partial *p, const struct life_share *share)
{
	const struct app_span *span = bytes_map_get(&p->span_index, &share->ctx,
						    sizeof(share->ctx));

	return span && span->begun && span->begin_ns <= share->begin_ns;
}

/*
 * If a span is recorded, all changes of the active span of a thread are. So a span that was seen
 * published had the thread all that time.
 */
int unsure_add(struct partial *p, const struct life *l, const struct life_share *share)
{
	struct unsure u = {l->pid, share->tid, share->begin_ns, share->end_ns, share->begin_ns, 0};

	if (!context_is_none(&share->ctx) && span_was_there(p, share))
		return spans_share(p, true, l, share);
	return l->pid ? vec_push(&p->unsure, u) : 0;
}

int unowned_add(struct partial *p, const struct life *l, const struct life_share *share)
{
	struct unsure u = {l->pid, share->tid, share->begin_ns, share->end_ns, 0, 0};

	return l->pid && u.begin_ns < u.end_ns && u.end_ns > p->options.from_ns
		       ? vec_push(&p->unsure, u)
		       : 0;
}

/* Sorted by process and begin; an element that covers others precedes them. */
static int unsure_compare(const void *a, const void *b)
{
	const struct unsure *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(y->end_ns, x->end_ns);
	COMPARE(y->before_ns, x->before_ns);
	return 0;
}

/* In a gap a span of any process may have had a thread: pid 0 stands for any. */
static int gaps_add(struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->gaps.count && !err; i++) {
		const struct record_gap *gap = &p->gaps.data[i];
		struct unsure u = {.begin_ns = gap->begin_ns,
				   .end_ns = gap->head.time_ns,
				   .before_ns = UINT64_MAX};

		err = vec_push(&p->unsure, u);
	}
	return err;
}

/* Widens `to` by `u`, which does not begin before it. True if `u` adds nothing else. */
static bool unsure_join(struct unsure *to, const struct unsure *u)
{
	if (u->begin_ns > to->end_ns)
		return false;
	if (u->before_ns == to->before_ns && u->end_ns > to->end_ns)
		to->end_ns = u->end_ns;
	return u->before_ns <= to->before_ns && u->end_ns <= to->end_ns;
}

/* Joins elements that mean the same for each span. */
static size_t unsure_merge(struct unsure *list, size_t count)
{
	size_t kept = 1, widest = 0;

	for (size_t i = 1; i < count; i++) {
		struct unsure *last = &list[kept - 1];

		if (last->pid != list[i].pid)
			widest = kept;
		else if (unsure_join(last, &list[i]) || unsure_join(&list[widest], &list[i]))
			continue;
		list[kept++] = list[i];
		if (list[kept - 1].end_ns > list[widest].end_ns)
			widest = kept - 1;
	}
	return kept;
}

int unsure_sort(struct partial *p)
{
	struct unsure *list = p->unsure.data;
	size_t kept = 0;
	int err;

	for (size_t i = 0; i < p->unsure.count; i++)
		if (list[i].before_ns)
			list[kept++] = list[i];
	p->unsure.count = kept;
	err = gaps_add(p);
	list = p->unsure.data;

	if (err || !p->unsure.count)
		return err;
	qsort(list, p->unsure.count, sizeof(*list), unsure_compare);
	p->unsure.count = unsure_merge(list, p->unsure.count);
	for (size_t i = 0; i < p->unsure.count; i++) {
		struct unsure *u = &list[i];

		u->latest_ns = u->before_ns < u->end_ns ? u->before_ns : u->end_ns;
		if (i && u[-1].pid == u->pid && u[-1].latest_ns > u->latest_ns)
			u->latest_ns = u[-1].latest_ns;
	}
	return 0;
}

/* A search of unsure_find(). */
struct seeking {
	const struct partial *p;
	const struct app_span *span;
	struct interval range;
	struct looks *looks;
	struct intervals *to;
};

static int stretch_look(const struct seeking *s, const struct unsure *u)
{
	u64 begin_ns = u->begin_ns > s->range.begin_ns ? u->begin_ns : s->range.begin_ns;
	u64 end_ns = u->end_ns < s->range.end_ns ? u->end_ns : s->range.end_ns;

	s->looks->count++;
	if (u->before_ns <= s->span->begin_ns || begin_ns >= end_ns)
		return 0;
	return vec_push(s->to, (struct interval){.begin_ns = begin_ns, .end_ns = end_ns});
}

/* Looks at elements that begin in the range, then at earlier ones that may concern the span. */
static int unsure_look(const struct seeking *s, u32 pid)
{
	const struct unsure *list = s->p->unsure.data;
	const struct unsure first = {
		.pid = pid, .begin_ns = s->range.begin_ns, .end_ns = UINT64_MAX};
	size_t n = COUNT_BEFORE(&s->p->unsure, e, unsure_compare(e, &first) < 0);
	int err = 0;

	for (size_t i = n;
	     i < s->p->unsure.count && list[i].pid == pid && list[i].begin_ns < s->range.end_ns &&
	     s->looks->count < s->looks->most && !err;
	     i++)
		err = stretch_look(s, &list[i]);
	for (size_t i = n;
	     i > 0 && list[i - 1].pid == pid && list[i - 1].latest_ns > s->span->begin_ns &&
	     s->looks->count < s->looks->most && !err;
	     i--)
		err = stretch_look(s, &list[i - 1]);
	return err;
}

int unsure_find(const struct partial *p, const struct app_span *span, struct interval range,
		struct looks *looks, struct intervals *to)
{
	const struct seeking s = {p, span, range, looks, to};
	int err = 0;

	to->count = 0;
	if (range.begin_ns >= range.end_ns || !p->unsure.count)
		return 0;
	err = unsure_look(&s, 0);
	if (!err && span->pid)
		err = unsure_look(&s, span->pid);
	if (err || looks->count < looks->most)
		return err;
	to->count = 0;
	return vec_push(to, range);
}
