/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program lost of its own records. Which span a thread had is not known then, until the
 * next record that names it; nor is it of a time that a record began before the loss, unless the
 * record that ends it says that it was so. What was seen published in such a time counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

/* A time in which a span had a thread, by its records. */
struct stay {
	u32 tid;
	u64 begin_ns, end_ns;
	struct app_span *span;
	size_t share, hold; /* numbers in lists */
};

/* A time in which nothing says which span a thread had; `only`: of that one it is said. */
struct blank {
	u32 tid;
	u64 begin_ns, end_ns, before_ns;
	const struct app_span *only;
};

struct blanking {
	struct partial *p;
	VEC(struct stay) stays;
	VEC(struct blank) blanks;
};

int span_loss_add(struct partial *p, const struct record_lost *lost)
{
	struct span_loss loss = {lost->head.pid, lost->begin_ns, lost->head.time_ns};

	if (!loss.pid || loss.begin_ns >= loss.end_ns)
		return 0;
	return vec_push(&p->span_losses, loss);
}

static int loss_compare(const void *a, const void *b)
{
	const struct span_loss *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return 0;
}

/* By process and time; those that lap over are one. */
static void losses_sort(struct partial *p)
{
	struct span_loss *list = p->span_losses.data;
	size_t kept = 0;

	qsort(list, p->span_losses.count, sizeof(*list), loss_compare);
	for (size_t i = 1; i < p->span_losses.count; i++) {
		struct span_loss *last = &list[kept];

		if (list[i].pid != last->pid || list[i].begin_ns > last->end_ns)
			list[++kept] = list[i];
		else if (list[i].end_ns > last->end_ns)
			last->end_ns = list[i].end_ns;
	}
	p->span_losses.count = kept + 1;
}

void span_losses_prune(struct partial *p)
{
	struct span_loss *list = p->span_losses.data;
	size_t kept = 0;

	if (!p->span_losses.count)
		return;
	losses_sort(p);
	for (size_t i = 0; i < p->span_losses.count; i++)
		if (i + 1 == p->span_losses.count || list[i + 1].pid != list[i].pid)
			list[kept++] = list[i];
	p->span_losses.count = kept;
}

/* From the begin of the first of a process in the range to the end of the last; end 0: none. */
static struct stretch losses_in(const struct partial *p, u32 pid, struct stretch range)
{
	const struct span_loss *list = p->span_losses.data;
	size_t first = COUNT_BEFORE(&p->span_losses, e,
				    e->pid < pid || (e->pid == pid && e->end_ns <= range.begin_ns));
	size_t after = COUNT_BEFORE(&p->span_losses, e,
				    e->pid < pid || (e->pid == pid && e->begin_ns < range.end_ns));

	if (first >= after || range.begin_ns >= range.end_ns)
		return (struct stretch){0};
	return (struct stretch){list[first].begin_ns, list[after - 1].end_ns};
}

/* ---- what threads had, and when that is not known ---- */

static int stays_of(struct blanking *b, struct app_span *span)
{
	int err = 0;

	for (size_t i = 0; i < span->active.list.count; i++) {
		const struct span_share *s = &span->active.list.data[i];
		struct stay stay = {s->tid, s->begin_ns, s->end_ns, span, i, 0};

		if (!s->holds.count)
			err = vec_push(&b->stays, stay);
		for (; stay.hold < s->holds.count && !err; stay.hold++) {
			stay.begin_ns = s->holds.data[stay.hold].begin_ns;
			stay.end_ns = s->holds.data[stay.hold].end_ns;
			err = vec_push(&b->stays, stay);
		}
		if (err)
			return err;
	}
	return 0;
}

static int stay_compare(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return memcmp(&x->span->ctx, &y->span->ctx, sizeof(x->span->ctx));
}

/* Whether the record that ended it says of the span that it was active: its end, or a child. */
static bool stay_is_sure(const struct blanking *b, size_t at)
{
	const struct stay *stay = &b->stays.data[at], *next = stay + 1;
	const struct app_span *child;

	if (stay->span->ended && stay->span->end_ns == stay->end_ns)
		return true;
	if (at + 1 == b->stays.count || next->tid != stay->tid || next->begin_ns != stay->end_ns)
		return false;
	child = next->span;
	return child->begun && child->begin_ns == stay->end_ns &&
	       memcmp(&child->parent, stay->span->ctx.span, 8) == 0 &&
	       memcmp(child->ctx.trace, stay->span->ctx.trace, 16) == 0;
}

static void stay_drop(const struct stay *stay)
{
	struct span_share *s = &stay->span->active.list.data[stay->share];

	if (s->holds.count) {
		struct span_hold *h = &s->holds.data[stay->hold];

		split_subtract(&s->split, &h->split);
		*h = (struct span_hold){.begin_ns = h->begin_ns, .end_ns = h->begin_ns};
	} else {
		s->split = (struct split){0};
		s->end_ns = s->begin_ns;
	}
}

static int blank_add(struct blanking *b, const struct life *l, struct blank blank)
{
	struct unsure u = {.pid = l->pid,
			   .begin_ns = blank.begin_ns,
			   .end_ns = blank.end_ns,
			   .before_ns = blank.before_ns,
			   .only = blank.only};
	int err = vec_push(&b->blanks, blank);

	return err ? err : vec_push(&b->p->unsure, u);
}

/* Nobody was named for the range. */
static int range_blank(struct blanking *b, const struct life *l, struct stretch range)
{
	struct stretch lost = losses_in(b->p, l->pid, range);
	struct blank blank = {.tid = l->tid,
			      .begin_ns = lost.begin_ns > range.begin_ns ? lost.begin_ns
									 : range.begin_ns,
			      .end_ns = range.end_ns,
			      .before_ns = lost.end_ns};

	return lost.end_ns ? blank_add(b, l, blank) : 0;
}

static int stay_blank(struct blanking *b, const struct life *l, size_t at)
{
	const struct stay *stay = &b->stays.data[at];
	struct stretch range = {stay->begin_ns, stay->end_ns};
	struct stretch lost = losses_in(b->p, l->pid, range);
	struct blank own = {l->tid, stay->begin_ns, stay->end_ns, stay->end_ns, stay->span};
	int err;

	if (!lost.end_ns || stay_is_sure(b, at))
		return 0;
	err = range_blank(b, l, range);
	err = err ? err : blank_add(b, l, own);
	stay_drop(stay);
	return err;
}

/* Up to its first naming, from there to its first stay, and from each to the next. */
static int life_blank(struct blanking *b, const struct life *l)
{
	u64 named_ns = l->active.first_ns, at_ns = l->origin_ns;
	size_t i = COUNT_BEFORE(&b->stays, e,
				e->tid < l->tid || (e->tid == l->tid && e->begin_ns < at_ns));
	int err = 0;

	for (; i < b->stays.count && b->stays.data[i].tid == l->tid &&
	       b->stays.data[i].begin_ns < l->state.last_ns && !err;
	     i++) {
		const struct stay *stay = &b->stays.data[i];

		if (at_ns < named_ns && named_ns <= stay->begin_ns) {
			err = range_blank(b, l, (struct stretch){at_ns, named_ns});
			at_ns = named_ns;
		}
		if (!err && at_ns < stay->begin_ns)
			err = range_blank(b, l, (struct stretch){at_ns, stay->begin_ns});
		err = err ? err : stay_blank(b, l, i);
		at_ns = stay->end_ns > at_ns ? stay->end_ns : at_ns;
	}
	if (!err && at_ns < named_ns && named_ns < l->state.last_ns) {
		err = range_blank(b, l, (struct stretch){at_ns, named_ns});
		at_ns = named_ns;
	}
	return err ? err : range_blank(b, l, (struct stretch){at_ns, l->state.last_ns});
}

/* ---- what was seen published then ---- */

static int blank_compare(const void *a, const void *b)
{
	const struct blank *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return 0;
}

/* A blank of a stay comes twice, the other one beside it. */
static bool lies_in_blank(const struct blanking *b, const struct app_span *span, u32 tid,
			  struct stretch seen)
{
	size_t n = COUNT_BEFORE(&b->blanks, e,
				e->tid < tid || (e->tid == tid && e->begin_ns <= seen.begin_ns));

	for (size_t i = n; i > 0 && i + 2 > n; i--) {
		const struct blank *blank = &b->blanks.data[i - 1];

		if (blank->tid == tid && seen.end_ns <= blank->end_ns &&
		    span->begin_ns < blank->before_ns && (!blank->only || blank->only == span))
			return true;
	}
	return false;
}

static int hold_fill(struct blanking *b, struct app_span *span, u32 tid,
		     const struct span_hold *seen)
{
	u64 from_ns = b->p->options.from_ns;
	struct stretch range = {seen->begin_ns > from_ns ? seen->begin_ns : from_ns, seen->end_ns};
	struct span_share once = {.tid = tid,
				  .begin_ns = seen->begin_ns,
				  .end_ns = seen->end_ns,
				  .split = seen->split};

	return lies_in_blank(b, span, tid, range) ? share_add(&span->active, &once) : 0;
}

static int span_fill(struct blanking *b, struct app_span *span)
{
	int err = shares_sort(&span->seen);

	for (size_t i = 0; i < span->seen.list.count && !err; i++) {
		const struct span_share *s = &span->seen.list.data[i];
		struct span_hold once = {s->begin_ns, s->end_ns, s->split};

		if (!s->holds.count)
			err = hold_fill(b, span, s->tid, &once);
		for (size_t k = 0; k < s->holds.count && !err; k++)
			err = hold_fill(b, span, s->tid, &s->holds.data[k]);
	}
	return err;
}

static int blanks_find(struct blanking *b)
{
	struct partial *p = b->p;
	int err = 0;

	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = stays_of(b, p->spans.data[i]);
	if (b->stays.count)
		qsort(b->stays.data, b->stays.count, sizeof(*b->stays.data), stay_compare);
	for (size_t i = 0; i < p->lives.count && !err; i++)
		err = life_blank(b, p->lives.data[i]);
	if (b->blanks.count)
		qsort(b->blanks.data, b->blanks.count, sizeof(*b->blanks.data), blank_compare);
	return err;
}

int span_losses_apply(struct partial *p)
{
	struct blanking b = {.p = p};
	int err;

	if (!p->span_losses.count)
		return 0;
	losses_sort(p);
	err = blanks_find(&b);
	for (size_t i = 0; i < p->spans.count && b.blanks.count && !err; i++)
		if (p->spans.data[i]->begun)
			err = span_fill(&b, p->spans.data[i]);
	vec_free(&b.stays);
	vec_free(&b.blanks);
	return err;
}
