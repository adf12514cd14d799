/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hand-over keeps from chunk to chunk: traces of which a span is open or may change, and
 * what the times of their spans depend on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/checkpoint/prune.h"
#include "map/fact/gaps.h"
#include "map/fact/living.h"
#include "map/finish.h"
#include "map/handover/internal.h"
#include "map/losses.h"
#include "map/span/shares.h"

/* Ended threads, stays of one thread in one span, and times of doubt that are kept. */
#define ENDED_LIVES_MAX 16384
#define HOLDS_MAX 65536
#define UNSURE_MAX 65536
#define LOSSES_MAX 1024
#define UNSETTLED_NS 1000000000ull
#define SPAN_LOSSES_MAX 4096
/* Events, or attributes, of an open span: beyond that the oldest go (span_shorten()). */
#define TOLD_MAX 1024

/* ---- which traces ---- */

struct trace {
	u64 key; /* hash of its id */
	u64 begin_ns;
	size_t spans, open;
	bool busy; /* a span of it is open, or may change */
};

struct traces {
	VEC(struct trace) list;
	struct map numbers;	 /* key -> number in the list + 1 */
	struct bytes_map owners; /* contexts that a thread has now */
	u64 settled_ns;		 /* all records before are there */
};

static u64 trace_key(const struct context *ctx)
{
	return hash_bytes(ctx->trace, sizeof(ctx->trace));
}

static struct trace *trace_of(const struct traces *t, const struct context *ctx)
{
	size_t n = (size_t)(uintptr_t)map_get(&t->numbers, trace_key(ctx));

	return n ? &t->list.data[n - 1] : NULL;
}

static int trace_get(struct traces *t, const struct context *ctx, struct trace **out)
{
	int err = 0;

	*out = trace_of(t, ctx);
	if (*out)
		return 0;
	err = vec_push(&t->list, (struct trace){.key = trace_key(ctx), .begin_ns = UINT64_MAX});
	if (!err)
		err = map_put(&t->numbers, trace_key(ctx), (void *)(uintptr_t)t->list.count);
	if (!err)
		*out = &t->list.data[t->list.count - 1];
	return err;
}

static int owner_add(struct bytes_map *owners, const struct context *ctx)
{
	return context_is_none(ctx) ? 0 : bytes_map_put(owners, ctx, sizeof(*ctx), PRESENT);
}

/* The one that has the thread, and the one under which it is off its CPU. */
int handover_owners(const struct partial *p, struct bytes_map *owners)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];

		if (map_get(&p->current, l->tid) != l)
			continue;
		err = owner_add(owners, &l->active.owner);
		err = err ? err : owner_add(owners, &l->seen.owner);
		err = err ? err : owner_add(owners, &l->state.leave.ctx);
	}
	return err;
}

bool handover_is_over(const struct partial *p, const struct app_span *span,
		      const struct span_time *t)
{
	return span->ended || (span->begun && t->end_ns < p->to_ns);
}

static int trace_add(struct traces *t, const struct handover *h, const struct partial *finished,
		     const struct span_time *time, size_t at)
{
	const struct app_span *span = finished->spans.data[at];
	bool open = span->begun && !handover_is_over(finished, span, time);
	bool had = bytes_map_get(&t->owners, &span->ctx, sizeof(span->ctx));
	/* the end of a span is a guess where it is not told: more of its process may come */
	u64 keep_ns = span->begun && !span->ended && h->options.keep_ns < UNSETTLED_NS
			      ? UNSETTLED_NS
			      : h->options.keep_ns;
	bool recent = time->end_ns > t->settled_ns || t->settled_ns - time->end_ns < keep_ns;
	struct trace *trace;
	int err = trace_get(t, &span->ctx, &trace);

	if (err)
		return err;
	trace->spans++;
	trace->open += open;
	trace->busy |= open || had || recent;
	if (time->begin_ns < trace->begin_ns)
		trace->begin_ns = time->begin_ns;
	return 0;
}

/* The largest first. */
static int trace_compare(const void *a, const void *b)
{
	const struct trace *x = *(struct trace *const *)a, *y = *(struct trace *const *)b;

	COMPARE(y->spans, x->spans);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->key, y->key);
	return 0;
}

/* Gives up the largest traces while there are too many spans. 0 or -ENOMEM. */
static int traces_bound(struct handover *h, struct traces *t)
{
	VEC(struct trace *) busy = {0};
	size_t spans = 0;
	int err = 0;

	for (size_t i = 0; i < t->list.count; i++)
		spans += t->list.data[i].busy ? t->list.data[i].spans : 0;
	if (spans <= h->options.spans_max)
		return 0;
	for (size_t i = 0; i < t->list.count && !err; i++)
		if (t->list.data[i].busy)
			err = vec_push(&busy, &t->list.data[i]);
	if (!err)
		qsort(busy.data, busy.count, sizeof(*busy.data), trace_compare);
	for (size_t i = 0; i < busy.count && spans > h->options.spans_max && !err; i++) {
		busy.data[i]->busy = false;
		spans -= busy.data[i]->spans;
		h->counts.given_up += busy.data[i]->open;
	}
	vec_free(&busy);
	return err;
}

/*
 * The time before which nothing changes any more. A thread that is not settled may still tell of
 * spans since its first record; one that stays so for long hardly does anything.
 */
static u64 settled_until(const struct partial *p)
{
	u64 begun_ns, settled_ns = p->to_ns;
	u64 since_ns = p->to_ns > UNSETTLED_NS ? p->to_ns - UNSETTLED_NS : 0;

	if (uneven_cut_is_open(p))
		uneven_cut_body(p, &begun_ns, &settled_ns);
	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];

		if (!l->settled && l->first_ns >= since_ns && l->first_ns < settled_ns)
			settled_ns = l->first_ns;
	}
	return settled_ns;
}

static int traces_find(struct handover *h, const struct partial *finished,
		       const struct span_time *times, struct traces *t)
{
	const struct partial *p = h->running;
	int err = handover_owners(p, &t->owners);

	t->settled_ns = settled_until(p);
	for (size_t i = 0; i < finished->spans.count && !err; i++)
		err = trace_add(t, h, finished, &times[i], i);
	return err ? err : traces_bound(h, t);
}

/* ---- spans ---- */

/* Remembers a span that is kept no longer, in the place of the oldest such one. 0 or -ENOMEM. */
static int gone_add(struct handover *h, const struct context *ctx)
{
	u64 hash = context_hash(ctx), *place = &h->gone_ring[h->gone_at % GONE_MAX];
	int err;

	if (map_get(&h->gone, hash))
		return 0;
	err = map_put(&h->gone, hash, PRESENT);
	if (err)
		return err;
	if (h->gone_at >= GONE_MAX)
		map_remove(&h->gone, *place);
	*place = hash;
	h->gone_at++;
	return 0;
}

static void span_free_kept(struct handover *h, struct app_span *span)
{
	handed_remove(h, &span->ctx);
	bytes_map_remove(&h->running->span_index, &span->ctx, sizeof(span->ctx));
	span_free(span);
}

int handover_span_drop(struct handover *h, struct app_span *span)
{
	int err = span->begun || span->ended ? gone_add(h, &span->ctx) : 0;

	span_free_kept(h, span);
	return err;
}

void handover_late_drop(struct handover *h)
{
	struct partial *p = h->running;
	size_t kept = 0;

	for (size_t i = 0; i < p->spans.count; i++) {
		struct app_span *span = p->spans.data[i];

		if (!h->gone.count || span->begun || !map_get(&h->gone, context_hash(&span->ctx))) {
			p->spans.data[kept++] = span;
			continue;
		}
		/* no time of a span that was told depends on where its context is seen */
		h->counts.late += span->ended || span->active.list.count || span->events.count ||
				  span->attributes.count;
		span_free_kept(h, span);
	}
	p->spans.count = kept;
}

/*
 * An open span with very many stays: when each of them was is forgotten, their time is kept. The
 * same of very many events.
 */
static void span_bound(struct handover *h, struct app_span *span)
{
	struct span_shares *shares[] = {&span->active, &span->seen};

	if (span->events.count > TOLD_MAX || span->attributes.count > TOLD_MAX)
		span_shorten(span);
	for (int b = 0; b < 2; b++)
		for (size_t i = 0; i < shares[b]->list.count; i++) {
			if (shares[b]->list.data[i].holds.count <= HOLDS_MAX)
				continue;
			h->counts.forgotten += shares[b]->list.data[i].holds.count;
			vec_free(&shares[b]->list.data[i].holds);
		}
}

/* What ended before that time changes no more. */
static u64 closed_until(const struct handover *h, const struct traces *t)
{
	return t->settled_ns > h->options.keep_ns ? t->settled_ns - h->options.keep_ns : 0;
}

/* Since when a busy trace is there, or one may come that is. */
static u64 oldest_of(const struct handover *h, const struct traces *t)
{
	u64 oldest_ns = closed_until(h, t);

	for (size_t i = 0; i < t->list.count; i++)
		if (t->list.data[i].busy && t->list.data[i].begin_ns < oldest_ns)
			oldest_ns = t->list.data[i].begin_ns;
	return oldest_ns;
}

/* Leaves the spans of busy traces. */
static int spans_keep(struct handover *h, const struct traces *t)
{
	struct partial *p = h->running;
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < p->spans.count; i++) {
		struct app_span *span = p->spans.data[i];
		const struct trace *trace = trace_of(t, &span->ctx);

		if (err || !trace || trace->busy) {
			span_bound(h, span);
			p->spans.data[kept++] = span;
			continue;
		}
		err = handover_span_drop(h, span);
	}
	p->spans.count = kept;
	return err;
}

/* Kernel spans of contexts that no span is kept of. */
static int children_keep(struct handover *h)
{
	VEC(struct context) gone = {0};
	struct bytes_map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && bytes_map_next(&h->table, &at, &entry))
		if (!bytes_map_get(&h->running->span_index, entry.key, entry.len))
			err = vec_push(&gone, *(const struct context *)entry.key);
	for (size_t i = 0; i < gone.count; i++)
		handed_remove(h, &gone.data[i]);
	vec_free(&gone);
	return err;
}

/* When the process ran another program, behind that time; 0: it did not. */
static u64 exec_after(const struct partial *finished, u32 pid, u64 time_ns)
{
	const struct fact_process *list = finished->facts.processes.data;
	size_t n = COUNT_BEFORE(&finished->facts.processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));

	for (; n < finished->facts.processes.count && list[n].pid == pid; n++)
		if (!list[n].snapshot)
			return list[n].time_ns;
	return 0;
}

/*
 * Notes when the programs of open spans ended, if what is kept will not say it: another program
 * took the place of theirs or, with `all`, the threads of their program are forgotten.
 */
static void ends_note(struct handover *h, const struct partial *finished,
		      const struct span_time *times, bool all)
{
	for (size_t i = 0; i < finished->spans.count; i++) {
		const struct app_span *f = finished->spans.data[i];
		u64 end_ns;
		struct app_span *span;

		if (!f->begun || f->ended || f->over_ns)
			continue;
		end_ns = exec_after(finished, f->pid, f->begin_ns);
		if (!end_ns && all && times[i].end_ns < finished->to_ns)
			end_ns = times[i].end_ns;
		span = end_ns ? bytes_map_get(&h->running->span_index, &f->ctx, sizeof(f->ctx))
			      : NULL;
		if (span)
			span->over_ns = end_ns;
	}
}

/* ---- threads ---- */

/* Whether the end of a thread still matters: to a span, or because it may come back. */
static bool ended_matters(const struct handover *h, const struct life *l)
{
	return l->last_ns >= h->oldest_ns || l->state.out;
}

static int loss_tell_all(struct partial *p, struct life *l)
{
	int err = partial_life_begin(p, l);

	err = err ? err : partial_tell_losses(p, l, p->losses.count, UINT64_MAX);
	return err ? err : life_anchor(l, filters_life_from(p, l), &p->sink);
}

/* Whether there are so many losses, or threads that ended, that these are forgotten. */
static bool lives_are_many(const struct partial *p)
{
	return p->losses.count > LOSSES_MAX || p->lives.count - p->current.count > ENDED_LIVES_MAX;
}

static int lives_keep(struct handover *h)
{
	struct partial *p = h->running;
	bool shorten = p->losses.count > LOSSES_MAX, few = !lives_are_many(p);
	size_t kept = 0;
	int err = gaps_sort(p);

	filters_sort(p);
	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];
		bool current = map_get(&p->current, l->tid) == l;

		if (!err && shorten && current)
			err = loss_tell_all(p, l);
		if (err || current || (few && ended_matters(h, l))) {
			p->lives.data[kept++] = l;
			continue;
		}
		h->counts.forgotten += ended_matters(h, l);
		err = partial_life_end(p, l, UINT64_MAX);
		life_free(l);
		free(l);
	}
	p->lives.count = kept;
	if (!err && shorten)
		losses_shorten(p);
	return err;
}

/* ---- the rest ---- */

/* A time without a span matters only where its program lost records, which is told soon. */
static bool doubt_matters(const struct handover *h, const struct unsure *u)
{
	const struct partial *p = h->running;
	const struct interval in = {u->begin_ns, u->end_ns, u->pid};

	if (u->end_ns <= h->oldest_ns)
		return false;
	return u->before_ns || u->end_ns + UNSETTLED_NS > p->to_ns ||
	       intervals_around(&p->span_losses, in).end_ns;
}

static void doubts_keep(struct handover *h)
{
	struct partial *p = h->running;
	size_t kept = 0;

	intervals_join(&p->span_losses);
	for (size_t i = 0; i < p->unsure.count; i++) {
		const struct unsure *u = &p->unsure.data[i];
		bool matters = doubt_matters(h, u);

		if (matters && kept < UNSURE_MAX)
			p->unsure.data[kept++] = *u;
		else
			h->counts.forgotten += matters;
	}
	p->unsure.count = kept;
	kept = 0;
	for (size_t i = 0; i < p->span_losses.count; i++) {
		bool matters = p->span_losses.data[i].end_ns > h->oldest_ns;

		if (matters && kept < SPAN_LOSSES_MAX)
			p->span_losses.data[kept++] = p->span_losses.data[i];
		else
			h->counts.forgotten += matters;
	}
	p->span_losses.count = kept;
}

static int facts_keep_living(struct partial *p)
{
	struct living living = {0};
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++)
		err = living_keep(&living, p->lives.data[i]);
	for (size_t i = 0; i < p->spans.count && !err; i++)
		if (p->spans.data[i]->pid)
			err = map_put(&living.pids, p->spans.data[i]->pid, PRESENT);
	if (!err && !uneven_cut_is_open(p)) /* records that wait may ask for any fact */
		err = partial_facts_prune(p, &living);
	call_details_prune(&p->details, &living.tids);
	living_free(&living);
	return err;
}

int handover_prune(struct handover *h, const struct partial *finished,
		   const struct span_time *times)
{
	struct traces t = {0};
	int err = traces_find(h, finished, times, &t);

	if (!err) {
		h->oldest_ns = oldest_of(h, &t);
		ends_note(h, finished, times, lives_are_many(h->running));
	}
	err = err ? err : lives_keep(h);
	err = err ? err : spans_keep(h, &t);
	err = err ? err : handover_fold(h, &t.owners, closed_until(h, &t));
	err = err ? err : children_keep(h);
	if (!err)
		doubts_keep(h);
	err = err ? err : facts_keep_living(h->running);
	vec_free(&t.list);
	map_free(&t.numbers);
	bytes_map_free(&t.owners);
	return err;
}
