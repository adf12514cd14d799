/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves what still holds at the end of a partial: threads that go on, the last facts of these and
 * their processes, and open spans.
 */
#include "map/checkpoint/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/gaps.h"
#include "map/fact/kind.h"
#include "map/fact/process.h"
#include "map/finish.h"
#include "map/losses.h"
#include "map/partial.h"

#define SPANS_MAX 65536	  /* open spans that are kept: the latest */
#define CONTEXTS_MAX 4096 /* of them spans that only their context tells of: those seen last */
#define SHARES_MAX 256	  /* of a span: then only those of threads that go on are kept */

static bool has(const struct map *set, u64 key)
{
	return map_get(set, key);
}

static int span_keep(struct living *l, const struct context *ctx)
{
	return context_is_none(ctx) ? 0 : bytes_map_put(&l->spans, ctx, sizeof(*ctx), PRESENT);
}

int living_keep(struct living *living, const struct life *l)
{
	int err = map_put(&living->tids, l->tid, PRESENT);

	if (!err) /* facts from before an exec gave it another number */
		err = map_put(&living->tids, l->left_tid, PRESENT);
	if (!err && l->pid)
		err = map_put(&living->pids, l->pid, PRESENT);
	if (!err && l->state.wake.has)
		err = map_put(&living->tids, l->state.wake.waker_tid, PRESENT);
	if (!err && l->state.held.had_cpu)
		err = map_put(&living->tids, l->state.held.had_cpu - 1, PRESENT);
	for (size_t i = 0; i < TURNS_MAX && l->state.held.end_ns && !err; i++)
		err = map_put(&living->tids, l->state.held_turns.list[i].tid, PRESENT);
	err = err ? err : span_keep(living, &l->active.owner);
	return err ? err : span_keep(living, &l->seen.owner);
}

static int life_ended(struct map *ended, const struct life *l)
{
	u64 end = l->last_ns + 1, before = (uintptr_t)map_get(ended, l->tid);

	return map_put(ended, l->tid, (void *)(uintptr_t)(end > before ? end : before));
}

/*
 * Lives that ended tell the spans that they had, and go. Nothing comes any more from the left of
 * the others.
 */
static int lives_prune(struct partial *p, struct map *ended)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];

		if (!err && map_get(&p->current, l->tid) == l)
			err = partial_life_begin(p, l);
		if (!err && map_get(&p->current, l->tid) == l)
			err = partial_tell_losses(p, l, p->losses.count, UINT64_MAX);
		if (!err && map_get(&p->current, l->tid) == l)
			err = life_anchor(l, filters_life_from(p, l), &p->sink);
		if (err || map_get(&p->current, l->tid) == l) {
			p->lives.data[kept++] = l;
			continue;
		}
		err = life_ended(ended, l);
		err = err ? err : partial_life_end(p, l, UINT64_MAX);
		life_free(l);
		free(l);
	}
	p->lives.count = kept;
	p->unsure.count = 0; /* they lie before the instant */
	return err;
}

static int living_find(struct living *living, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++)
		err = living_keep(living, p->lives.data[i]);
	for (size_t i = 0; i < p->turns.cpus.count; i++)
		for (size_t k = 0; k < p->turns.cpus.data[i].count && !err; k++)
			err = map_put(&living->tids, p->turns.cpus.data[i].list[k].tid, PRESENT);
	return err;
}

int partial_facts_prune(struct partial *p, struct living *l)
{
	int err = facts_sort(&p->facts);

	err = err ? err : processes_inherit(p, &l->pids);
	err = err ? err : living_expect(l, &p->facts, p->to_ns);
	return err ? err : facts_keep(p, l);
}

/* Whether a thread that goes on had the span, was seen in it, or told an event of it. */
static bool span_is_known_to_living(const struct living *l, const struct app_span *s)
{
	for (size_t i = 0; i < s->active.list.count; i++)
		if (has(&l->tids, s->active.list.data[i].tid))
			return true;
	for (size_t i = 0; i < s->seen.list.count; i++)
		if (has(&l->tids, s->seen.list.data[i].tid))
			return true;
	for (size_t i = 0; i < s->events.count; i++)
		if (has(&l->tids, s->events.data[i].tid))
			return true;
	return false;
}

/* Whether the span goes on: not if its program ended without ending it. */
static bool span_holds(const struct living *l, const struct app_span *s)
{
	if (bytes_map_get(&l->spans, &s->ctx, sizeof(s->ctx)))
		return true;
	return !s->ended && (s->begun ? has(&l->pids, s->pid) : span_is_known_to_living(l, s));
}

static int span_by_begin(const void *a, const void *b)
{
	const struct app_span *x = *(struct app_span *const *)a, *y = *(struct app_span *const *)b;

	COMPARE(x->begin_ns, y->begin_ns);
	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

/* When the span was seen last, by its records or its context. */
static u64 sighted_to(const struct app_span *s)
{
	const struct span_shares *ledgers[] = {&s->active, &s->seen};
	u64 to_ns = s->begin_ns > s->open_ns ? s->begin_ns : s->open_ns;

	if (s->ended && s->end_ns > to_ns)
		to_ns = s->end_ns;
	for (int b = 0; b < 2; b++)
		for (size_t i = 0; i < ledgers[b]->list.count; i++)
			if (ledgers[b]->list.data[i].end_ns > to_ns)
				to_ns = ledgers[b]->list.data[i].end_ns;
	return to_ns;
}

/*
 * A checkpoint has no gaps, but a span that is not seen behind a gap ends there: notes the first
 * gap behind its last sighting. A span that a thread has now goes on.
 */
static void span_note_gap(const struct partial *p, const struct living *l, struct app_span *s)
{
	u64 sighted_ns = s->sighted_ns, gap_ns = gaps_begin_after(p, sighted_ns);

	if (bytes_map_get(&l->spans, &s->ctx, sizeof(s->ctx)) || s->gap_ns < sighted_ns)
		s->gap_ns = 0;
	else if (s->gap_ns)
		return;
	if (gap_around(p, sighted_ns))
		gap_ns = sighted_ns;
	if (gap_ns != UINT64_MAX && !bytes_map_get(&l->spans, &s->ctx, sizeof(s->ctx)))
		s->gap_ns = gap_ns;
}

/* The latest first. */
static int span_by_sighting(const void *a, const void *b)
{
	const struct app_span *x = *(struct app_span *const *)a, *y = *(struct app_span *const *)b;

	COMPARE(y->sighted_ns, x->sighted_ns);
	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

/* Sets sighted_ns to the last sighting of each span and all spans below it, the latest first. */
static void spans_sight(struct partial *p)
{
	for (size_t i = 0; i < p->spans.count; i++)
		p->spans.data[i]->sighted_ns = sighted_to(p->spans.data[i]);
	if (p->spans.count)
		qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_by_sighting);
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct app_span *s = p->spans.data[i];
		struct app_span *up = span_parent(p, s);

		for (; up && up->sighted_ns < s->sighted_ns; up = span_parent(p, up))
			up->sighted_ns = s->sighted_ns;
	}
}

/* When the span was seen first. */
static u64 sighted_since(const struct app_span *s)
{
	const struct span_shares *ledgers[] = {&s->active, &s->seen};
	u64 since_ns = s->begin_ns ? s->begin_ns : UINT64_MAX;

	if (s->ended && s->end_ns < since_ns)
		since_ns = s->end_ns;
	for (int b = 0; b < 2; b++)
		for (size_t i = 0; i < ledgers[b]->list.count; i++)
			if (ledgers[b]->list.data[i].begin_ns < since_ns)
				since_ns = ledgers[b]->list.data[i].begin_ns;
	return since_ns;
}

/* Adds spans that only threads that have them name: spans below them may tell more. */
static int spans_had_add(struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct context *ctx = &p->lives.data[i]->active.owner;

		if (!context_is_none(ctx) && !span_get(p, ctx))
			err = -ENOMEM;
	}
	return err;
}

/*
 * A span whose begin was not seen was there before the spans below it, which go with the chunk:
 * notes their first sighting. The earliest go first, so that each span is told once.
 */
static void spans_sight_begins(struct partial *p)
{
	bool any = false;

	for (size_t i = 0; i < p->spans.count; i++) {
		p->spans.data[i]->sighted_ns = sighted_since(p->spans.data[i]);
		any |= !p->spans.data[i]->begun;
	}
	if (any)
		qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_by_sighting);
	for (size_t i = any ? p->spans.count : 0; i > 0; i--) {
		const struct app_span *s = p->spans.data[i - 1];
		struct app_span *up = span_parent(p, s);

		for (; up && up->sighted_ns > s->sighted_ns; up = span_parent(p, up)) {
			up->sighted_ns = s->sighted_ns;
			if (!up->begun)
				up->begin_ns = s->sighted_ns;
		}
	}
}

/* Notes gaps also while records wait: a later sighting among them takes it back. */
static void spans_note_gaps(struct partial *p, const struct living *l)
{
	bool any = p->gaps.count > 0;

	for (size_t i = 0; i < p->spans.count && !any; i++)
		any = p->spans.data[i]->gap_ns;
	if (!any)
		return;
	spans_sight(p);
	for (size_t i = 0; i < p->spans.count; i++)
		span_note_gap(p, l, p->spans.data[i]);
}

static void shares_bound(const struct living *l, struct span_shares *shares)
{
	bool many = shares->list.count > SHARES_MAX;
	size_t kept = 0;

	map_free(&shares->numbers);
	for (size_t i = 0; i < shares->list.count; i++) {
		struct span_share *s = &shares->list.data[i];

		vec_free(&s->holds); /* all ended; their exact times go with the chunks */
		if (!many || has(&l->tids, s->tid))
			shares->list.data[kept++] = *s;
	}
	shares->list.count = kept;
}

static void span_drop(struct partial *p, struct app_span *s)
{
	bytes_map_remove(&p->span_index, &s->ctx, sizeof(s->ctx));
	span_free(s);
}

/* Whether no thread has the span and only its context tells of it. */
static bool span_is_context(const struct living *l, const struct app_span *s)
{
	return !s->begun && !s->ended && !s->active.list.count && !s->events.count &&
	       !bytes_map_get(&l->spans, &s->ctx, sizeof(s->ctx));
}

/* Leaves the latest spans that only their context tells of: nothing tells when they are over. */
static void contexts_bound(struct partial *p, const struct living *l)
{
	size_t contexts = 0, kept = 0;

	for (size_t i = 0; i < p->spans.count; i++)
		contexts += span_is_context(l, p->spans.data[i]);
	if (contexts <= CONTEXTS_MAX)
		return;
	for (size_t i = 0; i < p->spans.count; i++)
		p->spans.data[i]->sighted_ns = sighted_to(p->spans.data[i]);
	qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_by_sighting);
	contexts = 0;
	for (size_t i = 0; i < p->spans.count; i++) {
		struct app_span *s = p->spans.data[i];

		if (span_is_context(l, s) && ++contexts > CONTEXTS_MAX)
			span_drop(p, s);
		else
			p->spans.data[kept++] = s;
	}
	p->spans.count = kept;
}

/* Leaves the latest spans: lost ends, and spans that never end, must not add up for ever. */
static void spans_bound(struct partial *p)
{
	size_t over = p->spans.count > SPANS_MAX ? p->spans.count - SPANS_MAX : 0;

	if (!over)
		return;
	qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_by_begin);
	for (size_t i = 0; i < over; i++)
		span_drop(p, p->spans.data[i]);
	p->spans.count -= over;
	memmove(p->spans.data, p->spans.data + over, p->spans.count * sizeof(*p->spans.data));
}

static int spans_prune(struct partial *p, const struct living *l)
{
	int err = spans_had_add(p);
	size_t kept = 0;

	if (err)
		return err;
	spans_sight_begins(p);
	for (size_t i = 0; i < p->spans.count; i++) {
		struct app_span *s = p->spans.data[i];

		if (span_holds(l, s)) {
			p->spans.data[kept++] = s;
			span_shorten(s);
			shares_bound(l, &s->active);
			shares_bound(l, &s->seen);
			continue;
		}
		span_drop(p, s);
	}
	p->spans.count = kept;
	contexts_bound(p, l);
	spans_bound(p);
	return 0;
}

int checkpoint_prune(struct partial *p)
{
	struct living living = {0};
	int err = uneven_cut_cut_holes(p);
	/* records that come for that time may ask for any fact */
	bool open = uneven_cut_is_open(p);

	err = err ? err : gaps_sort(p);
	filters_prune(p);
	err = err ? err : lives_prune(p, &living.ended);
	if (!err)
		losses_shorten(p);
	err = err ? err : living_find(&living, p);
	if (!err) /* a checkpoint has no gaps */
		spans_note_gaps(p, &living);
	if (!err && !open) {
		err = partial_facts_prune(p, &living);
		err = err ? err : spans_prune(p, &living);
	}
	call_details_prune(&p->details, &living.tids);
	intervals_join(&p->span_losses);
	KEEP_LAST(&p->span_losses, e, owner, open || has(&living.pids, e->owner), (void)0);
	living_free(&living);
	return err;
}
