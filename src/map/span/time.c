/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/gaps.h"
#include "map/partial.h"
#include "map/span/holds.h"
#include "map/tree/tree.h"

/* A process ended, or ran another program: none of its spans goes on. */
struct ending {
	u32 pid;
	u64 time_ns;
};

/* The spans of the application linked as a forest, by number in p->spans. */
struct forest {
	const struct partial *p;
	size_t *first_child; /* number + 1; 0: none */
	size_t *next_sibling;
	bool *has_parent;
	struct ending *endings; /* by pid, then time */
	size_t endings_count;
};

static int ending_compare(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The number of endings that stand before (pid, time), or at it. */
static size_t endings_until(const struct ending *list, size_t count, u32 pid, u64 time_ns)
{
	const struct {
		const struct ending *data;
		size_t count;
	} all = {list, count};

	return COUNT_BEFORE(&all, e, e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
}

/* Collects when leaders were born: several processes may have one number, one after the other. */
static size_t births_collect(const struct partial *p, struct ending *births)
{
	size_t n = 0;

	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];

		if (l->born && l->tid == l->pid)
			births[n++] = (struct ending){l->pid, l->origin_ns};
	}
	for (size_t i = 0; i < p->facts.tenures.count; i++) { /* births that nobody saw */
		const struct fact_tenure *tenure = &p->facts.tenures.data[i];

		if (!tenure->fork)
			births[n++] = (struct ending){tenure->tid, tenure->time_ns};
	}
	qsort(births, n, sizeof(*births), ending_compare);
	return n;
}

/* A process ends with the last of its threads; if one goes on, with the recording. */
static void endings_collect(const struct partial *p, struct ending *births, size_t born,
			    struct forest *f)
{
	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];
		u64 end_ns = l->state.place == LIFE_GONE ? l->state.last_ns : p->to_ns;

		if (l->pid)
			f->endings[f->endings_count++] = (struct ending){l->pid, end_ns};
	}
	qsort(f->endings, f->endings_count, sizeof(*f->endings), ending_compare);
	for (size_t i = 0, n = f->endings_count, kept = 0; i < n; i++) {
		const struct ending *e = &f->endings[i];
		/* the next one is of the same process, unless a leader was born between */
		bool last = i + 1 == n || e[1].pid != e->pid ||
			    endings_until(births, born, e->pid, e->time_ns) !=
				    endings_until(births, born, e->pid, e[1].time_ns);

		if (last)
			f->endings[kept++] = *e;
		f->endings_count = kept;
	}
}

static int endings_find(const struct partial *p, struct forest *f)
{
	struct ending *births = calloc(p->lives.count + p->facts.tenures.count + 1,
				       sizeof(*births));
	int err = births ? 0 : -ENOMEM;

	f->endings = calloc(p->lives.count + p->facts.processes.count + 1, sizeof(*f->endings));
	if (!f->endings)
		err = -ENOMEM;
	if (!err)
		endings_collect(p, births, births_collect(p, births), f);
	for (size_t i = 0; i < p->facts.processes.count && !err; i++)
		if (!p->facts.processes.data[i].snapshot)
			f->endings[f->endings_count++] = (struct ending){
				p->facts.processes.data[i].pid, p->facts.processes.data[i].time_ns};
	if (!err)
		qsort(f->endings, f->endings_count, sizeof(*f->endings), ending_compare);
	free(births);
	return err;
}

static int forest_build(const struct partial *p, struct forest *f)
{
	struct map number = {0};
	int err = 0;

	*f = (struct forest){.p = p};
	f->first_child = calloc(p->spans.count + 1, sizeof(size_t));
	f->next_sibling = calloc(p->spans.count + 1, sizeof(size_t));
	f->has_parent = calloc(p->spans.count + 1, sizeof(bool));
	if (!f->first_child || !f->next_sibling || !f->has_parent)
		return -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = map_put(&number, (u64)(uintptr_t)p->spans.data[i], (void *)(i + 1));
	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *up = span_parent(p, p->spans.data[i]);
		size_t n = up ? (size_t)map_get(&number, (u64)(uintptr_t)up) : 0;

		if (!n || n == i + 1)
			continue;
		f->next_sibling[i] = f->first_child[n - 1];
		f->first_child[n - 1] = i + 1;
		f->has_parent[i] = true;
	}
	map_free(&number);
	return err ? err : endings_find(p, f);
}

static void forest_free(struct forest *f)
{
	free(f->endings);
	free(f->first_child);
	free(f->next_sibling);
	free(f->has_parent);
}

/* ---- from when to when ---- */

static void bounds_widen(struct span_time *t, u64 begin_ns, u64 end_ns)
{
	if (begin_ns && (!t->begin_ns || begin_ns < t->begin_ns))
		t->begin_ns = begin_ns;
	if (end_ns > t->end_ns)
		t->end_ns = end_ns;
}

static void bounds_of_seen(const struct span_shares *seen, struct span_time *t)
{
	for (size_t i = 0; i < seen->list.count; i++)
		bounds_widen(t, seen->list.data[i].begin_ns, seen->list.data[i].end_ns);
}

/*
 * In a time that was recovered within a gap the record that ends a stay may be missing: then the
 * thread had the span up to the gap, or as long as it was seen published.
 */
static void bounds_of_active(const struct partial *p, const struct span_shares *active,
			     struct span_time *t)
{
	for (size_t i = 0; i < active->list.count; i++) {
		const struct span_share *s = &active->list.data[i];
		u64 gap_ns = gap_around(p, s->end_ns);

		bounds_widen(t, s->begin_ns, gap_ns ? gap_ns : s->end_ns);
		t->cut |= gap_ns != 0;
	}
}

/* From the first to the last record and sighting of the span. */
static void bounds_of_sightings(const struct partial *p, const struct app_span *span,
				struct span_time *t)
{
	bounds_of_active(p, &span->active, t);
	bounds_of_seen(&span->seen, t);
	bounds_widen(t, span->begin_ns, span->begin_ns);
	if (span->begun && !span->ended)
		bounds_widen(t, 0, span->open_ns);
	if (span->ended)
		bounds_widen(t, span->end_ns, span->end_ns);
}

/* ---- with all that lies below it ---- */

/* A walk down each tree. */
struct walk {
	const struct forest *f;
	struct map threads;	/* tid -> number in sums + 1 */
	VEC(struct split) sums; /* of a thread: the time of all spans that were visited */
	VEC(size_t) above;	/* from a root to where it stands */
	size_t *child;		/* of each span: the next one to go to, number + 1 */
	bool *visited;		/* hostile parents may make a circle */
	struct span_time *out;	/* the splits; from the first to the last sighting */
};

/* The time of a thread so far, NULL if memory ran out. Good until the next call. */
static struct split *sum_of(struct walk *w, u32 tid)
{
	size_t n = (size_t)(uintptr_t)map_get(&w->threads, tid);

	if (n)
		return &w->sums.data[n - 1];
	if (vec_push(&w->sums, (struct split){0}) ||
	    map_put(&w->threads, tid, (void *)(uintptr_t)w->sums.count))
		return NULL;
	return &w->sums.data[w->sums.count - 1];
}

/*
 * Adds to the span what it and all spans below it had on its threads: the difference of the
 * threads' sums between the entry and the exit of the walk. 0 or -ENOMEM.
 */
static int threads_note(struct walk *w, size_t at, bool leaves)
{
	const struct app_span *span = w->f->p->spans.data[at];
	const struct span_shares *ledgers[] = {&span->active, &span->seen};

	for (int b = 0; b < (span->begun ? 1 : 2); b++) {
		for (size_t i = 0; i < ledgers[b]->list.count; i++) {
			const struct span_share *s = &ledgers[b]->list.data[i];
			struct split *sum = s == span_share_of(span, s->tid) ? sum_of(w, s->tid)
									     : NULL;

			if (!sum && s == span_share_of(span, s->tid))
				return -ENOMEM;
			if (!sum)
				continue;
			if (leaves) {
				split_add(&w->out[at].split, sum);
				continue;
			}
			split_subtract(&w->out[at].split, sum);
			split_add(sum, &s->split);
		}
	}
	return 0;
}

static int span_enter(struct walk *w, size_t at)
{
	w->visited[at] = true;
	w->child[at] = w->f->first_child[at];
	bounds_of_sightings(w->f->p, w->f->p->spans.data[at], &w->out[at]);
	return vec_push(&w->above, at) ? -ENOMEM : threads_note(w, at, false);
}

static int span_leave(struct walk *w, size_t at)
{
	struct span_time *above;

	w->above.count--;
	if (w->above.count) {
		above = &w->out[w->above.data[w->above.count - 1]];
		bounds_widen(above, w->out[at].begin_ns, w->out[at].end_ns);
		above->cut |= w->out[at].cut;
	}
	return threads_note(w, at, true);
}

static int walk_from(struct walk *w, size_t root)
{
	int err = span_enter(w, root);

	while (!err && w->above.count) {
		size_t at = w->above.data[w->above.count - 1], child = w->child[at];

		if (!child) {
			err = span_leave(w, at);
			continue;
		}
		w->child[at] = w->f->next_sibling[child - 1];
		if (!w->visited[child - 1])
			err = span_enter(w, child - 1);
	}
	return err;
}

/* Walks from each root, then through the rest, which are circles. */
static int walk_all(const struct forest *f, struct span_time *out)
{
	size_t count = f->p->spans.count;
	struct walk w = {.f = f, .out = out};
	int err;

	w.child = calloc(count + 1, sizeof(*w.child));
	w.visited = calloc(count + 1, sizeof(*w.visited));
	err = w.child && w.visited ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		if (!f->has_parent[i])
			err = walk_from(&w, i);
	for (size_t i = 0; i < count && !err; i++)
		if (!w.visited[i])
			err = walk_from(&w, i);
	map_free(&w.threads);
	vec_free(&w.sums);
	vec_free(&w.above);
	free(w.child);
	free(w.visited);
	return err;
}

/* ---- the bounds ---- */

/* When the process that began the span ended or ran another program; else the recording's end. */
static u64 program_end(const struct forest *f, const struct app_span *span)
{
	size_t n = endings_until(f->endings, f->endings_count, span->pid, span->begin_ns);

	return n < f->endings_count && f->endings[n].pid == span->pid ? f->endings[n].time_ns
								      : f->p->to_ns;
}

/*
 * The end of a span whose end was not told. Behind a gap it may be over: only what is seen to go on
 * is joined across a gap. The same holds within a gap, in a time that was recovered there.
 */
static u64 end_guess(const struct forest *f, const struct app_span *span, u64 sighted_ns)
{
	u64 end_ns = program_end(f, span);
	u64 gap_ns = gap_around(f->p, sighted_ns) ? sighted_ns : gaps_begin_after(f->p, sighted_ns);

	if (span->over_ns && span->over_ns < end_ns)
		end_ns = span->over_ns;
	if (span->gap_ns >= sighted_ns && span->gap_ns && span->gap_ns < gap_ns)
		gap_ns = span->gap_ns;
	return end_ns < gap_ns ? end_ns : gap_ns;
}

static void bounds_of(const struct forest *f, size_t at, struct span_time *t)
{
	const struct app_span *span = f->p->spans.data[at];

	t->begin_soft = !span->begun;
	t->end_soft = !span->ended;
	if (span->begun)
		t->begin_ns = span->begin_ns;
	if (span->ended)
		t->end_ns = span->end_ns;
	else if (span->begun)
		t->end_ns = end_guess(f, span, t->end_ns);
	if (!t->begin_ns || t->begin_ns > t->end_ns)
		t->begin_ns = t->end_ns;
}

/* ---- the split ---- */

/* Time before this lies in no answer, or in no record. */
static u64 known_from(const struct partial *p)
{
	return p->options.from_ns > p->from_ns ? p->options.from_ns : p->from_ns;
}

/*
 * Adds the rest of the duration, in which the span had no thread. It is unknown before the range of
 * the answer, where the span may have had a thread, and if the span was not seen whole.
 */
static void rest_add(const struct forest *f, struct span_time *t, s64 rest,
		     const struct span_held *held)
{
	s64 *left = &t->split.ns[held->whole ? SPLIT_off_thread : SPLIT_unknown];
	u64 from_ns = known_from(f->p), unknown = held->unsure_ns;

	if (t->begin_ns < from_ns)
		unknown += (t->end_ns < from_ns ? t->end_ns : from_ns) - t->begin_ns;
	if (unknown > (u64)rest)
		unknown = (u64)rest;
	t->split.ns[SPLIT_unknown] = split_sum(t->split.ns[SPLIT_unknown], (s64)unknown);
	*left = split_sum(*left, rest - (s64)unknown);
}

/* Makes the parts sum to the duration. */
static void fit(const struct forest *f, struct span_time *t, const struct span_held *held)
{
	s64 rest = split_rest(&t->split, t->end_ns - t->begin_ns);

	if (rest >= 0)
		rest_add(f, t, rest, held);
	else /* clocks of two readers differ by nanoseconds: the excess comes off the CPU time */
		split_cut(&t->split, 0 - (u64)rest, false);
}

/*
 * Spans below a span count while it lasts. Where a stay lasts longer, several threads had the span,
 * or a thread may have had it unseen, each stay is looked at. The times of threads that had it at
 * once are summed up.
 */
static int time_of(const struct forest *f, struct span_holds *holds, size_t i, struct span_time *t)
{
	u64 sighted_ns = t->end_ns, from_ns = known_from(f->p);
	const struct app_span *span = f->p->spans.data[i];
	bool told = span->begun && !(span->flags & SPAN_TOO_DEEP);
	struct span_held held = {.whole = told};
	int err;

	bounds_of(f, i, t);
	t->threads = span_threads(span);
	from_ns = from_ns > t->begin_ns ? from_ns : t->begin_ns;
	holds->unsure.count = 0;
	err = span->begun ? unsure_find(f->p, span,
					(struct interval){.begin_ns = from_ns, .end_ns = t->end_ns},
					&holds->looks, &holds->unsure)
			  : 0;
	if (err)
		return err;
	if (t->threads <= 1 && !t->cut && sighted_ns <= t->end_ns && !holds->unsure.count) {
		fit(f, t, &held);
		return 0;
	}
	err = span_holds_of(holds, i, from_ns, t->end_ns, &held);
	t->split = held.split;
	held.whole &= told;
	if (t->threads > 1)
		t->threads = held.threads > 1 ? held.threads : 1;
	if (t->threads > 1)
		rest_add(f, t, (s64)(t->end_ns - t->begin_ns - held.ns), &held);
	else
		fit(f, t, &held);
	return err;
}

int span_times(const struct partial *p, struct span_time *out)
{
	struct span_holds holds = {
		.p = p,
		.looks.most = HOLDS_LOOKED_MAX + HOLDS_LOOKED_EACH * p->spans.count,
	};
	struct forest f;
	int err = forest_build(p, &f);

	holds.first_child = f.first_child;
	holds.next_sibling = f.next_sibling;
	memset(out, 0, p->spans.count * sizeof(*out));
	if (!err)
		err = walk_all(&f, out);
	for (size_t i = 0; i < p->spans.count && !err; i++)
		err = time_of(&f, &holds, i, &out[i]);
	span_holds_free(&holds);
	forest_free(&f);
	return err;
}
