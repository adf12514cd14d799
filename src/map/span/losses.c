/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a program lost from its own stream. Which span a thread had is unknown then, until
 * the next record that names its span. It is unknown, too, for a stay that a record began before
 * the loss, unless the record that ends the stay confirms it and no other span was seen published
 * meanwhile. Sightings in such a time count.
 */
#include "map/span/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "map/partial.h"
#include "map/span/shares.h"

/* A record says that a span had a thread over a loss, from the loss on. */
struct claim {
	u32 tid;
	u64 begin_ns, end_ns;
	const struct app_span *span;
	bool refuted; /* another span was seen published in that time */
};

/* The search for what losses leave unsure. */
struct blanking {
	struct partial *p;
	VEC(struct claim) claims;  /* sorted, once all are there: by thread, then begin */
	VEC(struct unsure) blanks; /* sorted, once all are there: by thread, then begin */
	struct map begins;	   /* thread, time and parent -> a span that began there */
};

int span_loss_add(struct partial *p, const struct record_lost *lost)
{
	struct interval loss = {lost->begin_ns, lost->head.time_ns, lost->head.pid};

	if (!loss.owner || loss.begin_ns >= loss.end_ns)
		return 0;
	return vec_push(&p->span_losses, loss);
}

/* From the begin of the first loss of a process in the range to the end of the last; end 0: none.
 */
static struct interval losses_in(const struct partial *p, u32 pid, u64 begin_ns, u64 end_ns)
{
	if (begin_ns >= end_ns)
		return (struct interval){0};
	return intervals_around(&p->span_losses, (struct interval){begin_ns, end_ns, pid});
}

/* ---- each time that a thread had a span ---- */

/* The stays of a share; a share with one stay has no list of them. */
struct times {
	struct span_hold once;
	struct span_hold *data;
	size_t count;
};

static void times_of(struct times *t, const struct span_share *s)
{
	*t = (struct times){{s->begin_ns, s->end_ns, s->split}, s->holds.data, s->holds.count};
	if (t->count)
		return;
	t->data = &t->once;
	t->count = 1;
}

typedef int time_fn(struct blanking *b, struct app_span *span, struct span_share *s,
		    struct span_hold *time);

static int times_each(struct blanking *b, struct app_span *span, struct span_shares *shares,
		      time_fn *fn)
{
	int err = 0;

	for (size_t i = 0; i < shares->list.count && !err; i++) {
		struct span_share *s = &shares->list.data[i];
		struct times t;

		times_of(&t, s);
		for (size_t k = 0; k < t.count && !err; k++)
			err = fn(b, span, s, &t.data[k]);
	}
	return err;
}

/* The part of [begin_ns, end_ns) that lies in the range of the answer. */
static struct interval asked_of(const struct partial *p, u64 begin_ns, u64 end_ns)
{
	const struct partial_options *o = &p->options;

	return (struct interval){.begin_ns = begin_ns > o->from_ns ? begin_ns : o->from_ns,
				 .end_ns = o->to_ns && o->to_ns < end_ns ? o->to_ns : end_ns};
}

/* ---- what records say over a loss ---- */

static u64 begin_key(u32 tid, u64 time_ns, u64 parent)
{
	return hash_pair(hash_pair(tid, time_ns), parent);
}

static int begins_find(struct blanking *b)
{
	int err = 0;

	for (size_t i = 0; i < b->p->spans.count && !err; i++) {
		struct app_span *s = b->p->spans.data[i];

		if (s->begun && s->parent)
			err = map_put(&b->begins, begin_key(s->tid, s->begin_ns, s->parent), s);
	}
	return err;
}

/* Whether the record that ended the stay says that the span was active: its end, or a child. */
static bool hold_is_confirmed(const struct blanking *b, const struct app_span *span, u32 tid,
			      const struct span_hold *h)
{
	const struct app_span *child;
	u64 parent;

	if (span->ended && span->end_ns == h->end_ns)
		return true;
	memcpy(&parent, span->ctx.span, sizeof(parent));
	child = map_get(&b->begins, begin_key(tid, h->end_ns, parent));
	return child && child->tid == tid && child->begin_ns == h->end_ns &&
	       child->parent == parent && memcmp(child->ctx.trace, span->ctx.trace, 16) == 0;
}

/* Losses in a time of a share; the begin of the first is not before it. */
static struct interval losses_of(const struct partial *p, const struct span_share *s,
				 const struct span_hold *h)
{
	struct interval lost = losses_in(p, s->pid, h->begin_ns, h->end_ns);

	if (lost.begin_ns < h->begin_ns)
		lost.begin_ns = h->begin_ns;
	return lost;
}

static int claim_add(struct blanking *b, struct app_span *span, struct span_share *s,
		     struct span_hold *h)
{
	struct interval lost = losses_of(b->p, s, h);
	struct claim c = {s->tid, lost.begin_ns, h->end_ns, span, false};

	return lost.end_ns && hold_is_confirmed(b, span, s->tid, h) ? vec_push(&b->claims, c) : 0;
}

static int claim_compare(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return memcmp(&x->span->ctx, &y->span->ctx, sizeof(x->span->ctx));
}

/* The last claim on a thread that begins then or before; NULL: there is none. */
static struct claim *claim_of(const struct blanking *b, u32 tid, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&b->claims, e,
				e->tid < tid || (e->tid == tid && e->begin_ns <= time_ns));

	return n && b->claims.data[n - 1].tid == tid ? &b->claims.data[n - 1] : NULL;
}

#define BELOW_LOOKED_MAX 256

/* True also if a span between them was lost, or if there are too many to look at. */
static bool may_lie_below(const struct partial *p, const struct app_span *span,
			  const struct app_span *above)
{
	if (memcmp(span->ctx.trace, above->ctx.trace, sizeof(span->ctx.trace)) != 0)
		return false;
	for (int i = 0; i < BELOW_LOOKED_MAX && span && span != above && span->begun; i++) {
		if (!span->parent)
			return false;
		span = span_parent(p, span);
	}
	return true;
}

static int claim_refute(struct blanking *b, struct app_span *span, struct span_share *s,
			struct span_hold *seen)
{
	u64 begin_ns = asked_of(b->p, seen->begin_ns, seen->end_ns).begin_ns;
	struct claim *c = claim_of(b, s->tid, begin_ns);

	if (c && !c->refuted && begin_ns < seen->end_ns && seen->end_ns <= c->end_ns)
		c->refuted = !may_lie_below(b->p, span, c->span);
	return 0;
}

static int claims_find(struct blanking *b)
{
	struct partial *p = b->p;
	int err = begins_find(b);

	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = times_each(b, p->spans.data[i], &p->spans.data[i]->active, claim_add);
	if (b->claims.count)
		qsort(b->claims.data, b->claims.count, sizeof(*b->claims.data), claim_compare);
	for (size_t i = 0; i < p->spans.count && b->claims.count && !err; i++)
		if (p->spans.data[i]->begun)
			err = times_each(b, p->spans.data[i], &p->spans.data[i]->seen,
					 claim_refute);
	return err;
}

/* Whether a record says that the span had the thread all the time, and nothing denies it. */
static bool hold_is_sure(const struct blanking *b, const struct app_span *span,
			 const struct span_share *s, const struct span_hold *h)
{
	const struct claim *c = claim_of(b, s->tid, losses_of(b->p, s, h).begin_ns);

	if (c && c->span == span && c->end_ns == h->end_ns && c->refuted)
		return false;
	return hold_is_confirmed(b, span, s->tid, h);
}

/* ---- when it is not known what a thread had ---- */

/* Adds a time that is unsure from the first loss in it on. */
static int blank_add(struct blanking *b, struct unsure u)
{
	struct interval lost = losses_in(b->p, u.pid, u.begin_ns, u.end_ns);

	if (!lost.end_ns)
		return 0;
	u.before_ns = lost.end_ns;
	if (lost.begin_ns > u.begin_ns)
		u.begin_ns = lost.begin_ns;
	return vec_push(&b->blanks, u);
}

/*
 * Cuts a stay at the loss: the span had the thread until then. The split is known for the whole
 * stay only, so it is unknown where the context was not seen.
 */
static void hold_doubt(const struct partial *p, const struct span_share *seen, u64 lost_ns,
		       struct span_hold *h)
{
	struct span_hold known = {.begin_ns = h->begin_ns, .end_ns = lost_ns};
	struct times t = {0};
	struct interval asked;
	s64 rest;

	if (seen && asked_of(p, h->begin_ns, lost_ns).begin_ns < lost_ns) /* else time_fill() */
		times_of(&t, seen);
	for (size_t i = COUNT_BEFORE(&t, e, e->begin_ns < h->begin_ns);
	     i < t.count && t.data[i].begin_ns < lost_ns && t.data[i].end_ns <= h->end_ns; i++) {
		split_add(&known.split, &t.data[i].split);
		if (t.data[i].end_ns > known.end_ns)
			known.end_ns = t.data[i].end_ns;
	}
	asked = asked_of(p, known.begin_ns, known.end_ns);
	rest = asked.begin_ns < asked.end_ns
		       ? split_rest(&known.split, asked.end_ns - asked.begin_ns)
		       : 0;
	if (rest > 0)
		known.split.ns[SPLIT_unknown] += rest;
	*h = known;
}

static int hold_blank(struct blanking *b, struct app_span *span, struct span_share *s,
		      struct span_hold *h)
{
	struct unsure u = {s->pid, s->tid, h->begin_ns, h->end_ns, 0, 0};
	struct interval lost = losses_of(b->p, s, h);

	if (!lost.end_ns || hold_is_sure(b, span, s, h))
		return 0;
	split_subtract(&s->split, &h->split);
	hold_doubt(b->p, share_of(&span->seen, s->tid), lost.begin_ns, h);
	split_add(&s->split, &h->split);
	if (!s->holds.count)
		s->end_ns = h->end_ns;
	return blank_add(b, u);
}

static int blank_compare(const void *a, const void *b)
{
	const struct unsure *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return 0;
}

static int blanks_find(struct blanking *b)
{
	struct partial *p = b->p;
	int err = 0;

	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = shares_sort(&p->spans.data[i]->seen);
	if (!err)
		err = claims_find(b);
	for (size_t i = 0; i < p->unsure.count && !err; i++)
		err = blank_add(b, p->unsure.data[i]);
	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = times_each(b, p->spans.data[i], &p->spans.data[i]->active, hold_blank);
	if (b->blanks.count)
		qsort(b->blanks.data, b->blanks.count, sizeof(*b->blanks.data), blank_compare);
	return err;
}

/* ---- what was seen published then ---- */

static int time_fill(struct blanking *b, struct app_span *span, struct span_share *s,
		     struct span_hold *seen)
{
	u64 begin_ns = asked_of(b->p, seen->begin_ns, seen->end_ns).begin_ns;
	size_t n = COUNT_BEFORE(&b->blanks, e,
				e->tid < s->tid || (e->tid == s->tid && e->begin_ns <= begin_ns));
	const struct unsure *u = n ? &b->blanks.data[n - 1] : NULL;
	struct span_share once = {.tid = s->tid,
				  .pid = s->pid,
				  .begin_ns = seen->begin_ns,
				  .end_ns = seen->end_ns,
				  .split = seen->split};

	return u && u->tid == s->tid && seen->end_ns <= u->end_ns && span->begin_ns < u->before_ns
		       ? share_add(&span->active, &once)
		       : 0;
}

int span_losses_apply(struct partial *p)
{
	struct blanking b = {.p = p};
	int err;

	if (!p->span_losses.count)
		return 0;
	intervals_join(&p->span_losses);
	err = blanks_find(&b);
	for (size_t i = 0; i < p->spans.count && b.blanks.count && !err; i++)
		if (p->spans.data[i]->begun)
			err = times_each(&b, p->spans.data[i], &p->spans.data[i]->seen, time_fill);
	err = err ? err : vec_move(&p->unsure, &b.blanks);
	vec_free(&b.claims);
	vec_free(&b.blanks);
	map_free(&b.begins);
	return err;
}
