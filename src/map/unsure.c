/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When nothing says whether a thread had a span: in a gap, and behind one until the first record
 * that names the span of that thread. The same holds of the begin of a recording, and of what a
 * program lost (span_losses.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

/* Whether its own records say that it was there before, so that the thread can have had it. */
static bool span_was_there(const struct partial *p, const struct life_share *share)
{
	const struct app_span *span = bytes_map_get(&p->span_index, &share->ctx,
						    sizeof(share->ctx));

	return span && span->begun && span->begin_ns < share->end_ns;
}

/*
 * All that changes the active span of a thread is recorded, if the span is. So one that was seen
 * published had the thread all that time.
 */
int unsure_add(struct partial *p, const struct life *l, const struct life_share *share)
{
	struct unsure u = {.pid = l->pid,
			   .begin_ns = share->begin_ns,
			   .end_ns = share->end_ns,
			   .before_ns = share->begin_ns};

	if (!context_is_none(&share->ctx) && span_was_there(p, share))
		return spans_share(p, true, share);
	return l->pid ? vec_push(&p->unsure, u) : 0;
}

static int unsure_compare(const void *a, const void *b)
{
	const struct unsure *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	COMPARE(x->before_ns, y->before_ns);
	return 0;
}

void unsure_sort(struct partial *p)
{
	struct unsure *list = p->unsure.data;

	if (!p->unsure.count)
		return;
	qsort(list, p->unsure.count, sizeof(*list), unsure_compare);
	for (size_t i = 0; i < p->unsure.count; i++) {
		bool first = i == 0 || list[i - 1].pid != list[i].pid;

		list[i].latest_ns = list[i].before_ns;
		if (!first && list[i - 1].latest_ns > list[i].latest_ns)
			list[i].latest_ns = list[i - 1].latest_ns;
	}
}

static int stretch_add(struct stretches *to, struct stretch range, u64 begin_ns, u64 end_ns)
{
	begin_ns = begin_ns > range.begin_ns ? begin_ns : range.begin_ns;
	end_ns = end_ns < range.end_ns ? end_ns : range.end_ns;
	return begin_ns < end_ns ? vec_push(to, (struct stretch){begin_ns, end_ns}) : 0;
}

static bool may_be_of(const struct unsure *u, const struct app_span *span)
{
	return u->before_ns > span->begin_ns && (!u->only || u->only == span);
}

/* Those that begin in the range, then those that began before it and may concern the span. */
static int threads_find(const struct partial *p, const struct app_span *span, struct stretch range,
			struct stretches *to)
{
	const struct unsure *list = p->unsure.data;
	size_t n = COUNT_BEFORE(&p->unsure, e,
				e->pid < span->pid ||
					(e->pid == span->pid && e->begin_ns < range.begin_ns));
	int err = 0;

	for (size_t i = n; i < p->unsure.count && list[i].pid == span->pid &&
			   list[i].begin_ns < range.end_ns && !err;
	     i++)
		if (may_be_of(&list[i], span))
			err = stretch_add(to, range, list[i].begin_ns, list[i].end_ns);
	for (size_t i = n; i > 0 && list[i - 1].pid == span->pid &&
			   list[i - 1].latest_ns > span->begin_ns && !err;
	     i--)
		if (may_be_of(&list[i - 1], span))
			err = stretch_add(to, range, list[i - 1].begin_ns, list[i - 1].end_ns);
	return err;
}

int unsure_find(const struct partial *p, const struct app_span *span, struct stretch range,
		struct stretches *to)
{
	int err = 0;

	to->count = 0;
	for (size_t i = 0; i < p->gaps.count && !err; i++)
		err = stretch_add(to, range, p->gaps.data[i].begin_ns,
				  p->gaps.data[i].head.time_ns);
	return err || !span->pid ? err : threads_find(p, span, range, to);
}
