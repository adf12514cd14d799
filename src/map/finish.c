/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a partial: lives end, lists are sorted. */
#include "map/finish.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "map/fact/gaps.h"
#include "map/idle.h"
#include "map/kernel/kspan_filter.h"
#include "map/life_sink.h"
#include "map/losses.h"
#include "map/unknown.h"

/*
 * Whether a filter would have left out the record at the end of the call. With --syscalls the
 * recording does not tell which calls were asked for: then only calls whose end was seen count.
 */
static bool call_left_out(const struct partial *p, const struct life *l, const struct kspan *k)
{
	u32 filters = filters_of_life(p, l), then = filters_at(p, k->end_ns - 1);

	filters &= ~(u32)FILTER_CALLS;
	if (!(then & FILTER_SCOPES)) /* else the begin of the call was seen: its scope has calls */
		filters |= then & FILTER_CALLS;
	return filters & (FILTER_SYSCALLS | FILTER_CALLS) ||
	       (filters & FILTER_SPANS && context_is_none(&k->ctx));
}

/* The open call counts as one that returned, with the time that it had. */
static int open_sums(struct partial *p, const struct life *l, const struct kspan *k)
{
	struct sum_one one = {.duration_ns = k->end_ns - k->begin_ns,
			      .idle = work_is_assumed(k->work) ? &k->idle : NULL};
	const struct call_sum call = {.key = call_key(k->nr, k->mode & SYSCALL_COMPAT),
				      .pid = k->pid,
				      .tid = l->tid,
				      .file = &k->file,
				      .fd = call_fd(k->mode, k->nr, k->args, 1),
				      .begin_ns = k->begin_ns};

	if (call_left_out(p, l, k) || !partial_in_range(p, k->end_ns))
		return 0;
	return call_sums_add(p, &call, &k->split, &one);
}

/* Whether the thread is still in the kernel visit in which it left its CPU, or was looked at. */
static bool is_in_visit(const struct life_state *s)
{
	if (!s->leave.visit_ns || s->place == LIFE_OFF_CPU)
		return s->leave.visit_ns;
	return s->place == LIFE_ON_CPU && s->visit_ns == s->leave.visit_ns && !s->doubt_to_ns;
}

/* Whether the visit is a call, or a fault within one. */
static bool is_of_call(u8 mode)
{
	return (mode & MODE_MASK) == MODE_syscall ||
	       ((mode & MODE_MASK) == MODE_fault && mode & MODE_IN_SYSCALL);
}

/* Its span lasts as long as the call. The time that is known of it was told already. */
static int open_sighted(struct partial *p, const struct life *l, const struct kspan *k)
{
	const struct life_share share = {
		.ctx = k->ctx, .tid = l->tid, .begin_ns = k->begin_ns, .end_ns = k->end_ns};

	return context_is_none(&k->ctx) ? 0 : spans_share(p, false, l, &share);
}

/* The context of a thread on a CPU goes on behind a range that ends with the partial. */
static int open_seen(struct partial *p, const struct life *l)
{
	const struct life_share share = {
		.ctx = l->seen.owner, .tid = l->tid, .begin_ns = p->to_ns, .end_ns = p->to_ns};

	if (p->options.to_ns != p->to_ns || l->state.place != LIFE_ON_CPU || !l->seen.known ||
	    context_is_none(&share.ctx))
		return 0;
	return spans_share(p, false, l, &share);
}

/*
 * Tells a call that had not returned when the recording ended or, if its end was lost, when its
 * thread ended.
 */
static int open_visit(struct partial *p, const struct life *l, u64 to_ns)
{
	const struct life_state *s = &l->state;
	const struct life_leave *v = &s->leave;
	struct kspan k = {.kind = KSPAN_SYSCALL,
			  .open = 1,
			  .begin_ns = v->visit_ns,
			  .end_ns = to_ns,
			  .tid = l->tid,
			  .pid = l->pid,
			  .nr = v->nr,
			  .mode = v->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0,
			  .args = {v->arg0},
			  .file = v->file,
			  .ctx = v->ctx,
			  .work = s->visit_work,
			  .split = s->visit_had,
			  .idle = s->visit_idle};
	s64 rest = split_rest(&k.split, k.end_ns - k.begin_ns);
	int err;

	if (!is_in_visit(s) || !is_of_call(v->mode) || rest < 0 ||
	    !call_returns(v->nr, v->mode & MODE_COMPAT))
		return 0;
	if (l->exit_ns && !partial_in_range(p, to_ns))
		return 0;
	if (k.begin_ns == l->origin_ns && !l->born) /* it was open when recording began */
		k.mode |= SYSCALL_BEGIN_SOFT;
	k.split.ns[SPLIT_unknown] += rest;
	err = open_sighted(p, l, &k);
	err = err ? err : open_sums(p, l, &k);
	return err ? err : kspan_keep(p, &k);
}

/*
 * When another life took the number of a life whose end was not seen; UINT64_MAX: none did. Lives
 * are sorted: the other stands behind it, or before it if it had begun under another number.
 */
static u64 number_taken(const struct partial *p, size_t at)
{
	const struct life *l = p->lives.data[at];
	u64 taken_ns = UINT64_MAX;

	for (size_t i = at ? at - 1 : 0; i < p->lives.count && i <= at + 1; i++) {
		const struct life *by = p->lives.data[i];
		u64 since_ns = by->renamed_ns ? by->renamed_ns : by->first_ns;

		if (by != l && by->tid == l->tid && since_ns > l->last_ns && since_ns < taken_ns)
			taken_ns = since_ns;
	}
	return taken_ns;
}

/*
 * When a life ends: with the range or with the gap behind it. It ends with its last record (0) if
 * another life took its number before that gap, if it had begun to end on its CPU, or if the gap
 * had begun already.
 */
static u64 life_to(const struct partial *p, const struct life *l, u64 taken_ns)
{
	/* a life of a joined checkpoint went on behind the gap for which that stands */
	u64 last_ns = l->last_ns > l->origin_ns ? l->last_ns : l->origin_ns;
	u64 gap_ns = gap_around(p, last_ns) ? UINT64_MAX : gaps_begin_after(p, last_ns);

	if (l->exit_ns && l->state.place != LIFE_OFF_CPU)
		return l->last_ns;
	if (map_get(&p->current, l->tid) == l)
		return p->to_ns;
	return gap_ns < taken_ns ? gap_ns : 0;
}

int partial_life_end(struct partial *p, struct life *l, u64 taken_ns)
{
	bool goes_on = map_get(&p->current, l->tid) == l;
	int err = partial_life_begin(p, l);
	u64 to_ns;

	/* what follows asks for its state, which is not known before its begin is */
	if (!err && !l->settled)
		err = life_anchor(l, filters_life_from(p, l), &p->sink);
	to_ns = life_to(p, l, taken_ns);
	err = err ? err : partial_tell_losses(p, l, p->losses.count, to_ns);
	/* a life of a checkpoint was told of losses behind its end, too */
	if (l->exit_ns && l->state.place != LIFE_OFF_CPU && l->state.doubt_from_ns >= to_ns)
		l->state.doubt_from_ns = l->state.doubt_to_ns = 0;
	if (l->exit_ns && l->state.doubt_to_ns) /* its end is among what was lost */
		to_ns = l->last_ns;
	err = err ? err : life_finish(l, filters_life_from(p, l), to_ns, &p->sink);
	if (!err && goes_on)
		err = open_visit(p, l, to_ns);
	if (!err && goes_on)
		err = open_seen(p, l);
	return err;
}

static int life_compare(const void *a, const void *b)
{
	const struct life *x = *(struct life *const *)a, *y = *(struct life *const *)b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->first_ns, y->first_ns);
	COMPARE(x->last_ns, y->last_ns);
	COMPARE(x->left_tid, y->left_tid);
	return 0;
}

/*
 * Joins two lives that a gap parted if the snapshot behind the gap told the same start time: it is
 * one thread, and its time in the gap is unknown.
 */
static void lives_rejoin(struct partial *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i], *before = n ? p->lives.data[n - 1] : NULL;

		if (!before || before->tid != l->tid || !l->severed || l->born || !l->start_ns ||
		    before->start_ns != l->start_ns) {
			p->lives.data[n++] = l;
			continue;
		}
		life_unknown(before, before->state.last_ns, l->origin_ns);
		split_add(&before->total, &l->total);
		work_add(&before->idle.known, &l->idle.known);
		before->doubtful_ns = split_sum(before->doubtful_ns, l->doubtful_ns);
		before->doubtful_cpu_ns = split_sum(before->doubtful_cpu_ns, l->doubtful_cpu_ns);
		before->state = l->state;
		before->last_ns = l->last_ns;
		if (map_get(&p->current, l->tid) == l) /* memory that is there already */
			(void)map_put(&p->current, l->tid, before);
		if (l->exit_ns) {
			before->exit_ns = l->exit_ns;
			before->exit_code = l->exit_code;
		}
		life_free(l);
		free(l);
	}
	p->lives.count = n;
}

/* Nobody knows which span a thread had before it came into the scope, since its last life ended. */
static int absence_add(struct partial *p, size_t at)
{
	const struct life *l = p->lives.data[at], *before = at ? p->lives.data[at - 1] : NULL;
	struct unsure u = {l->pid, l->tid, 0, l->first_ns, l->first_ns, 0};

	if (before && before->tid == l->tid)
		u.begin_ns = before->last_ns;
	return l->entered && l->pid && u.begin_ns < u.end_ns ? vec_push(&p->unsure, u) : 0;
}

/* Nor which span a thread has that left the scope, until another life has its number. */
static int departure_add(struct partial *p, size_t at)
{
	const struct life *l = p->lives.data[at];
	bool last = at + 1 == p->lives.count || l->tid != p->lives.data[at + 1]->tid;
	u64 end_ns = last ? p->to_ns : p->lives.data[at + 1]->first_ns;
	struct unsure u = {l->pid, l->tid, l->last_ns, end_ns, end_ns, 0};

	return l->state.out && l->pid && u.begin_ns < u.end_ns ? vec_push(&p->unsure, u) : 0;
}

static int lives_end(struct partial *p)
{
	int err = 0;

	if (p->lives.count)
		qsort(p->lives.data, p->lives.count, sizeof(*p->lives.data), life_compare);
	for (size_t i = 0; i < p->lives.count && !err; i++) {
		err = partial_life_end(p, p->lives.data[i], number_taken(p, i));
		err = err ? err : absence_add(p, i);
		err = err ? err : departure_add(p, i);
	}
	return err;
}

/* ---- the whole ---- */

/*
 * Nothing will come from either side. Records from before the body are applied first, to a partial
 * of their own: nothing in the body may depend on their order.
 */
static int uneven_cuts_finish(struct partial *p)
{
	struct raw_records raw = p->raw;
	struct partial *body;
	u64 from, to;
	int err;

	if (!p->uneven)
		return 0;
	uneven_cut_body(p, &from, &to);
	if (!raw.list.count && to >= p->to_ns)
		return 0;
	body = malloc(sizeof(*body));
	if (!body)
		return -ENOMEM;
	if (from > to)
		from = to;
	*body = *p;
	body->sink = partial_sink(body);
	body->uneven = false;
	body->raw = (struct raw_records){0};
	*p = (struct partial){
		.options = body->options, .sink = p->sink, .raw = raw, .facts = body->facts};
	body->facts = (struct facts){0};
	err = uneven_cut_apply_outside(p, 0, body->from_ns, body->from_ns);
	err = err ? err : uneven_cut_apply(p, 0, from);
	if (err)
		partial_free(body);
	else
		err = partial_merge(p, body);
	/* records of the body's time came too late for it */
	err = err ? err : uneven_cut_apply_outside(p, 0, to, to);
	return err ? err : uneven_cut_apply_tail(p, to);
}

/* Where calls were recorded at no time, the sleeps in them count in their place. */
static int call_waits_count(struct partial *p)
{
	if (!partial_calls_are_waits(p))
		return 0;
	return sums_merge(&p->calls, &p->call_waits);
}

int partial_finish(struct partial *p)
{
	int err = uneven_cuts_finish(p);

	err = err ? err : holes_end(p, p->to_ns);
	err = err ? err : gaps_sort(p);
	filters_sort(p);
	err = err ? err : lives_end(p);
	err = err ? err : span_losses_apply(p);
	if (err || p->err)
		return err ? err : p->err;
	err = unsure_sort(p);
	if (err)
		return err;
	filters_doubt(p);
	err = idle_doubt(p);
	if (err)
		return err;
	lives_rejoin(p);
	err = kspans_sort(&p->kspans);
	err = err ? err : facts_sort(&p->facts);
	if (!err)
		err = filters_apply(p);
	if (err)
		return err;
	err = spans_sort(p);
	err = err ? err : call_waits_count(p);
	err = err ? err : idle_apply(p);
	err = err ? err : sums_sort(&p->calls);
	err = err ? err : sums_sort(&p->waits);
	err = err ? err : sums_sort(&p->blocks);
	samples_sort(&p->samples);
	samples_sort(&p->wait_stacks);
	err = err ? err : events_sort(p);
	err = err ? err : hits_sort(&p->hits);
	err = err ? err : unknown_sort(p);
	costs_sort(&p->costs);
	p->finished = !err;
	return err;
}
