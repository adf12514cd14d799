/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that a filter leaves in doubt. Lives take time on a CPU that no record claims as user code.
 * Where a recorder left out records it may be something else:
 *
 * - With --syscalls it may be a call that was not recorded: user code and the kernel are one part
 *   there, cpu.
 * - With --spans-only everything under a span is recorded, so there it is user
 *   code, and unknown elsewhere, where the thread may have slept. A process is followed once the
 *   place of its context was found: as told last, since the place told before was perhaps only
 *   assumed. Of a thread that has an older span its sleep is not recorded then:
 *   the time is in doubt until the span was seen published, from where on all
 *   that the thread does is recorded. With both, all of it is unknown.
 *
 * With --detail waits no call is recorded. The records of a thread say so themselves, since the
 * level changes while it runs, or holds for some scopes only, and a life makes that time cpu
 * (model/life.h). A context is seen
 * only at switches then. So of a span of which nothing else is known, time on a CPU between two of
 * them is unknown: the thread may have left the span, and taken it up again.
 *
 * That holds of all that lies between two gaps, which was recorded as one, and of nothing else:
 * behind a gap another recorder may leave out nothing. So it is done when everything is together,
 * and partials of any cut carry the same. Lives have no times in them, but none goes on through a
 * gap: how much of each is in doubt is noted before those that a gap parts are joined.
 */
#include "map/span/filters.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "map/fact/follow.h"
#include "map/fact/gaps.h"
#include "map/losses.h"
#include "map/partial.h"
#include "map/span/holders.h"
#include "map/span/shares.h"

/* User time of a life known under filters, by its application's records, and by sightings. */
struct known {
	s64 active, seen;
};

#define CALLS_FLAGS ((u32)(FILTER_CALLS | FILTER_SCOPES))
#define LEVEL_FLAGS (CALLS_FLAGS | FILTER_BYTES | FILTER_BYTES_TURNS)

struct filtering {
	struct partial *p;
	struct holders holders;
	struct known *known; /* of each life; one more, for shares of no life */
};

static int told_compare(const void *a, const void *b)
{
	const struct filter_told *x = a, *y = b;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(y->flags & FILTER_DETAIL, x->flags & FILTER_DETAIL);
	COMPARE(x->flags, y->flags);
	return 0;
}

/*
 * Whether another level of detail begins with `told`, behind `last` in one stretch. What does not
 * tell of a change counts no more behind what does: a flight recorder repeats it in each chunk.
 */
static bool level_changes(const struct filter_told *last, const struct filter_told *told)
{
	return told->flags & FILTER_DETAIL && (last->flags ^ told->flags) & LEVEL_FLAGS;
}

/* What holds of all stretch, and the level where none changes. */
static u32 stretch_flags(const struct filter_told *last, const struct filter_told *told)
{
	return last->flags & FILTER_DETAIL ? told->flags & ~LEVEL_FLAGS : told->flags;
}

/* Each element from `first` on gets what holds of all the stretch. */
static void stretch_fill(struct filter_told *list, size_t first, size_t end)
{
	u32 all = 0;

	for (size_t i = first; i < end; i++)
		all |= list[i].flags & ~(LEVEL_FLAGS | FILTER_DETAIL);
	for (size_t i = first; i < end; i++)
		list[i].flags |= all;
}

void filters_sort(struct partial *p)
{
	struct filter_told *list = p->filters_told.data;
	size_t n = 0, first = 0;

	if (p->filters_told.count)
		qsort(list, p->filters_told.count, sizeof(*list), told_compare);
	for (size_t i = 0; i < p->filters_told.count; i++) {
		bool same = n && gaps_end_before(p, list[i].time_ns) <= list[n - 1].time_ns;

		if (same && !level_changes(&list[n - 1], &list[i])) {
			list[n - 1].flags |= stretch_flags(&list[n - 1], &list[i]);
			continue;
		}
		if (!same) {
			stretch_fill(list, first, n);
			first = n;
		}
		list[n++] = list[i];
	}
	stretch_fill(list, first, n);
	p->filters_told.count = n;
}

void filters_prune(struct partial *p)
{
	struct filter_told *list = p->filters_told.data;
	size_t n;

	filters_sort(p);
	n = p->filters_told.count;
	if (n)
		list[0] = list[n - 1];
	p->filters_told.count = n && list[0].time_ns >= gaps_end_before(p, UINT64_MAX);
}

/* No gap lies between the time and when the filters were told. */
u32 filters_at(const struct partial *p, u64 time_ns)
{
	const struct filter_told *list = p->filters_told.data;
	size_t count = p->filters_told.count;
	size_t n = COUNT_BEFORE(&p->filters_told, told, told->time_ns <= time_ns);

	if (n && list[n - 1].time_ns >= gaps_end_before(p, time_ns))
		return list[n - 1].flags;
	return n < count && list[n].time_ns < gaps_end_after(p, time_ns) ? list[n].flags : 0;
}

/* When the element holds: its stretch between gaps, or the part of that up to another level. */
static struct interval told_holds(const struct partial *p, size_t i)
{
	const struct filter_told *told = &p->filters_told.data[i];
	u64 begin_ns = gaps_end_before(p, told->time_ns);
	struct interval holds = {.begin_ns = begin_ns,
				 .end_ns = gap_around(p, told->time_ns)}; /* after a crash, say */

	if (!holds.end_ns)
		holds.end_ns = gaps_begin_after(p, told->time_ns);
	if (i && told[-1].time_ns >= begin_ns)
		holds.begin_ns = told->time_ns;
	if (i + 1 < p->filters_told.count && told[1].time_ns < holds.end_ns)
		holds.end_ns = told[1].time_ns;
	return holds;
}

u32 partial_filters(const struct partial *p, u64 from_ns, u64 to_ns)
{
	u32 flags = 0;

	for (size_t i = 0; i < p->filters_told.count; i++) {
		struct interval holds = told_holds(p, i);

		if (holds.begin_ns < to_ns && holds.end_ns > from_ns)
			flags |= p->filters_told.data[i].flags;
	}
	return flags;
}

static u64 overlap(struct interval a, u64 from_ns, u64 to_ns)
{
	u64 begin_ns = a.begin_ns > from_ns ? a.begin_ns : from_ns;
	u64 end_ns = a.end_ns < to_ns ? a.end_ns : to_ns;

	return begin_ns < end_ns ? end_ns - begin_ns : 0;
}

struct calls_share partial_calls_share(const struct partial *p, u64 from_ns, u64 to_ns)
{
	u64 recorded_ns = to_ns > from_ns ? to_ns - from_ns : 0, waits_ns = 0;

	for (size_t i = 0; i < p->gaps_joined.count; i++)
		recorded_ns -= overlap(p->gaps_joined.data[i], from_ns, to_ns);
	for (size_t i = 0; i < p->filters_told.count; i++)
		if (p->filters_told.data[i].flags & FILTER_CALLS)
			waits_ns += overlap(told_holds(p, i), from_ns, to_ns);
	return (struct calls_share){.calls_ns = recorded_ns > waits_ns ? recorded_ns - waits_ns : 0,
				    .recorded_ns = recorded_ns};
}

bool partial_calls_are_waits(const struct partial *p)
{
	u64 from_ns = p->options.from_ns > p->from_ns ? p->options.from_ns : p->from_ns;
	u64 to_ns = p->options.to_ns ? p->options.to_ns : p->to_ns;

	return !partial_calls_share(p, from_ns, to_ns).calls_ns &&
	       (partial_filters(p, from_ns, to_ns) & CALLS_FLAGS) == FILTER_CALLS;
}

u64 filters_life_from(const struct partial *p, struct life *l)
{
	u64 from_ns = partial_life_from(p, l);

	l->begin_calls = filters_at(p, from_ns) & FILTER_CALLS ? LIFE_CALLS_UNTOLD
							       : LIFE_CALLS_TOLD;
	return from_ns;
}

u32 filters_of_life(const struct partial *p, const struct life *l)
{
	/* of a checkpoint that was joined: it is recorded behind the gap that the checkpoint is */
	return filters_at(p, l->origin_ns > l->first_ns ? l->origin_ns : l->first_ns);
}

/* Moves up to `ns` of one part to another. Returns how much remains to be moved. */
static s64 part_to(struct split *s, enum split_part from, enum split_part to, s64 ns)
{
	s64 moved = ns > s->ns[from] ? s->ns[from] : ns;

	s->ns[to] = split_sum(s->ns[to], moved);
	s->ns[from] -= moved;
	return ns - moved;
}

/*
 * Moves up to `ns` of the time on a CPU outside of calls, of which up to user_ns is user code. No
 * user code is claimed in the place of other time.
 */
static void doubt_to_unknown(struct split *s, s64 ns, s64 user_ns)
{
	s64 of_user = ns < user_ns ? ns : user_ns;

	ns -= of_user - part_to(s, SPLIT_user, SPLIT_unknown, of_user);
	(void)part_to(s, SPLIT_cpu, SPLIT_unknown, ns);
}

/* In a stay [begin_ns, end_ns), time on a CPU before from_ns is in doubt. */
static void stay_to_unknown(struct split *split, u64 begin_ns, u64 end_ns, u64 from_ns)
{
	if (from_ns > begin_ns)
		doubt_to_unknown(split, from_ns < end_ns ? (s64)(from_ns - begin_ns) : INT64_MAX,
				 INT64_MAX);
}

static u64 later(u64 a_ns, u64 b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* When the thread was first seen to publish the span, in that time or behind it. */
static u64 seen_from(const struct app_span *span, u32 tid, struct interval of)
{
	const struct span_share *seen = share_of(&span->seen, tid);

	if (!seen || seen->end_ns <= of.begin_ns)
		return UINT64_MAX;
	for (size_t i = 0; i < seen->holds.count; i++) {
		if (seen->holds.data[i].end_ns > of.begin_ns)
			return later(seen->holds.data[i].begin_ns, of.begin_ns);
	}
	return later(seen->begin_ns, of.begin_ns);
}

/* Since when user code of a stay is known to be user code; the begin: all of it. */
static u64 known_from(const struct partial *p, const struct app_span *span,
		      const struct span_share *share, struct interval of, u32 pid)
{
	const struct fact_follow *follow = pid && of.begin_ns ? follow_of(p, pid, of) : NULL;

	if (!follow)
		return UINT64_MAX;
	if (follow->time_ns <= of.begin_ns)
		return of.begin_ns;
	return later(follow->time_ns, seen_from(span, share->tid, of));
}

/* The life that had the number then; lives.count: none. */
static size_t life_at(const struct filtering *f, u32 tid, u64 time_ns)
{
	const struct holder *holder = holders_find(&f->holders, tid, time_ns);

	return holder ? holder->life : f->p->lives.count;
}

/* A thread's time under a span. */
struct claim {
	const struct app_span *span;
	const struct span_share *share;
	bool sighted; /* as its context was seen, not by its own records */
};

/*
 * A stay by itself: between two there may be a gap, behind which another recorder followed the
 * process, or left out nothing. A split has nothing of before the range.
 */
static void stay_apply(struct filtering *f, const struct claim *claim, struct span_hold *stay)
{
	struct interval of = {.begin_ns = stay->begin_ns, .end_ns = stay->end_ns};
	u64 last_ns = of.end_ns > of.begin_ns ? of.end_ns - 1 : of.begin_ns;
	u32 filters = filters_at(f->p, last_ns), pid;
	u64 from_ns = 0;
	s64 *known;
	size_t life;

	if (!filters)
		return;
	life = life_at(f, claim->share->tid, last_ns);
	known = claim->sighted ? &f->known[life].seen : &f->known[life].active;
	pid = life < f->p->lives.count ? f->p->lives.data[life]->pid : 0;
	if (filters & FILTER_SPANS && filters & FILTER_SYSCALLS)
		from_ns = UINT64_MAX; /* which spans were seen depends on the calls */
	else if (filters & FILTER_SPANS)
		from_ns = claim->sighted ? of.begin_ns
					 : known_from(f->p, claim->span, claim->share, of, pid);
	stay_to_unknown(&stay->split, later(of.begin_ns, f->p->options.from_ns), of.end_ns,
			from_ns);
	if (filters & FILTER_SPANS)
		*known = split_sum(
			*known, split_sum(stay->split.ns[SPLIT_user], stay->split.ns[SPLIT_cpu]));
	if (claim->sighted)
		(void)part_to(&stay->split, SPLIT_cpu, SPLIT_unknown, INT64_MAX);
	if (filters & FILTER_SYSCALLS)
		(void)part_to(&stay->split, SPLIT_user, SPLIT_cpu, INT64_MAX);
}

static void share_apply(struct filtering *f, const struct claim *claim, struct span_share *share)
{
	struct span_hold once = {share->begin_ns, share->end_ns, share->split};

	if (!share->holds.count) {
		stay_apply(f, claim, &once);
		share->split = once.split;
		return;
	}
	share->split = (struct split){0};
	for (size_t i = 0; i < share->holds.count; i++) {
		stay_apply(f, claim, &share->holds.data[i]);
		split_add(&share->split, &share->holds.data[i].split);
	}
}

static void shares_apply(struct filtering *f, const struct app_span *span, bool sighted)
{
	const struct span_shares *shares = sighted ? &span->seen : &span->active;

	for (size_t i = 0; i < shares->list.count; i++) {
		struct span_share *share = &shares->list.data[i];
		struct claim claim = {.span = span, .share = share, .sighted = sighted};

		share_apply(f, &claim, share);
	}
}

static void lives_apply(struct filtering *f)
{
	for (size_t i = 0; i < f->p->lives.count; i++) {
		struct life *l = f->p->lives.data[i];
		const struct known *known = &f->known[i];
		/* the two overlap */
		s64 most = known->active > known->seen ? known->active : known->seen;

		s64 doubtful_ns = split_sum(l->doubtful_ns, l->doubtful_cpu_ns);

		if (most < doubtful_ns)
			doubt_to_unknown(&l->total, doubtful_ns - most, l->doubtful_ns);
	}
}

void filters_doubt(struct partial *p)
{
	for (size_t i = 0; i < p->lives.count && p->filters_told.count; i++) {
		struct life *l = p->lives.data[i];

		u32 filters = filters_of_life(p, l);

		if (filters & FILTER_SYSCALLS)
			(void)part_to(&l->total, SPLIT_user, SPLIT_cpu, INT64_MAX);
		if (filters & FILTER_SPANS) {
			l->doubtful_ns = l->total.ns[SPLIT_user];
			l->doubtful_cpu_ns = l->total.ns[SPLIT_cpu];
		}
	}
}

int filters_apply(struct partial *p)
{
	struct filtering f = {.p = p};
	int err;

	if (!p->filters_told.count)
		return 0;
	err = holders_fill(&f.holders, p);
	f.known = calloc(p->lives.count + 1, sizeof(*f.known));
	if (!f.known)
		err = -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++) {
		shares_apply(&f, p->spans.data[i], false);
		shares_apply(&f, p->spans.data[i], true);
	}
	if (!err)
		lives_apply(&f);
	holders_free(&f.holders);
	free(f.known);
	return err;
}
