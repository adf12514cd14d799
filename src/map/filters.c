/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a filter leaves undecided. Lives take time on a CPU that no record
 * claims for user code; where records were left out that need not be so:
 *
 * - With --syscalls it may be a call that was not recorded: it is unknown.
 * - With --spans-only everything under a span is recorded, so there it is user
 *   code, and unknown elsewhere. A process is followed once the place of its
 *   context was found: as told last, since the place told before was perhaps only
 *   assumed. Of a thread that has an older span its sleep is not recorded then:
 *   the time is in doubt until the span was seen published, from where on all
 *   that the thread does is recorded.
 *
 * That holds of the recording as a whole, so it is done when everything is
 * together: partials of any cut carry the same.
 */
#include <errno.h>
#include <stdlib.h>

#include "map/holders.h"
#include "map/internal.h"

/* User time of a life that is known, by its application's records, and by sightings. */
struct known {
	s64 active, seen;
};

struct filtering {
	struct partial *p;
	struct holders holders;
	struct known *known; /* of each life; one more, for shares of no life */
};

static void user_to_unknown(struct split *s, s64 ns)
{
	if (ns > s->ns[SPLIT_user])
		ns = s->ns[SPLIT_user];
	s->ns[SPLIT_unknown] = split_sum(s->ns[SPLIT_unknown], ns);
	s->ns[SPLIT_user] -= ns;
}

/* Of what it did in [begin, end), user code before `from` is in doubt. */
static void stay_to_unknown(struct split *split, u64 begin_ns, u64 end_ns, u64 from_ns)
{
	if (from_ns > begin_ns)
		user_to_unknown(split, from_ns < end_ns ? (s64)(from_ns - begin_ns) : INT64_MAX);
}

static u64 later(u64 a_ns, u64 b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

struct program_time {
	u64 begin_ns, end_ns; /* of its exec and the next one, if they were seen */
};

/* When the process ran the program that it ran at that time. */
static struct program_time program_at(const struct partial *p, u32 pid, u64 time_ns)
{
	const struct fact_process *list = p->facts.processes.data;
	size_t n = COUNT_BEFORE(&p->facts.processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	struct program_time program = {0, UINT64_MAX};

	for (size_t i = n; i > 0 && list[i - 1].pid == pid && !program.begin_ns; i--)
		if (!list[i - 1].snapshot)
			program.begin_ns = list[i - 1].time_ns;
	for (; n < p->facts.processes.count && list[n].pid == pid; n++)
		if (!list[n].snapshot) {
			program.end_ns = list[n].time_ns;
			break;
		}
	return program;
}

/*
 * Behind a gap from when the next recorder tells it, which says nothing of before. What was told
 * already is told again by a flight recorder.
 */
const struct fact_follow *follow_of(const struct partial *p, u32 pid, struct stretch of)
{
	const struct fact_follow *list = p->facts.follows.data;
	struct program_time program = program_at(p, pid, of.begin_ns);
	u64 begin_ns = later(program.begin_ns, gaps_end_before(p, of.begin_ns));
	u64 next_ns = gaps_end_after(p, of.end_ns);
	u64 end_ns = program.end_ns < next_ns ? program.end_ns : next_ns;
	size_t n = COUNT_BEFORE(&p->facts.follows, e,
				e->pid < pid || (e->pid == pid && e->time_ns < end_ns));

	while (n > 1 && list[n - 1].again && list[n - 2].pid == pid &&
	       list[n - 2].time_ns >= begin_ns)
		n--;
	if (!n || list[n - 1].pid != pid || list[n - 1].time_ns < begin_ns)
		return NULL;
	return &list[n - 1];
}

/* When the thread was seen first, in that time or behind it, to have published it. */
static u64 seen_from(const struct app_span *span, u32 tid, struct stretch of)
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

/* From where on its user code in a stay is known to be such; the begin: all of it. */
static u64 known_from(const struct partial *p, const struct app_span *span,
		      const struct span_share *share, struct stretch of, u32 pid)
{
	const struct fact_follow *follow = span && pid && of.begin_ns ? follow_of(p, pid, of)
								      : NULL;

	if (!follow)
		return UINT64_MAX;
	if (follow->time_ns <= of.begin_ns)
		return of.begin_ns;
	return later(follow->time_ns, seen_from(span, share->tid, of));
}

/*
 * Each stay by itself: between two there may be a gap, behind which another recorder followed the
 * process. A split has nothing of before the range. span NULL: all of it is in doubt.
 */
static void share_doubt(const struct partial *p, const struct app_span *span,
			struct span_share *share, u32 pid)
{
	u64 limit_ns = p->options.from_ns;

	if (!share->holds.count) {
		stay_to_unknown(&share->split, later(share->begin_ns, limit_ns), share->end_ns,
				known_from(p, span, share,
					   (struct stretch){share->begin_ns, share->end_ns}, pid));
		return;
	}
	share->split = (struct split){0};
	for (size_t i = 0; i < share->holds.count; i++) {
		struct span_hold *h = &share->holds.data[i];

		stay_to_unknown(
			&h->split, later(h->begin_ns, limit_ns), h->end_ns,
			known_from(p, span, share, (struct stretch){h->begin_ns, h->end_ns}, pid));
		split_add(&share->split, &h->split);
	}
}

static void shares_doubt(const struct partial *p, struct span_shares *shares)
{
	for (size_t i = 0; i < shares->list.count; i++)
		share_doubt(p, NULL, &shares->list.data[i], 0);
}

/* Its thread had its number when the share ended; lives.count: none. */
static size_t life_of_share(const struct filtering *f, const struct span_share *share)
{
	u64 time_ns = share->end_ns ? share->end_ns - 1 : 0;
	const struct holder *holder = holders_find(&f->holders, share->tid, time_ns);

	return holder ? holder->life : f->p->lives.count;
}

static void shares_apply(struct filtering *f, struct app_span *span)
{
	for (size_t i = 0; i < span->active.list.count; i++) {
		struct span_share *share = &span->active.list.data[i];
		size_t life = life_of_share(f, share);

		share_doubt(f->p, span, share,
			    life < f->p->lives.count ? f->p->lives.data[life]->pid : 0);
		f->known[life].active += share->split.ns[SPLIT_user];
	}
	for (size_t i = 0; i < span->seen.list.count; i++) {
		const struct span_share *share = &span->seen.list.data[i];

		f->known[life_of_share(f, share)].seen += share->split.ns[SPLIT_user];
	}
}

static void lives_apply(struct filtering *f)
{
	for (size_t i = 0; i < f->p->lives.count; i++) {
		struct split *total = &f->p->lives.data[i]->total;
		const struct known *known = &f->known[i];
		/* the two overlap */
		s64 most = known->active > known->seen ? known->active : known->seen;

		if (most < total->ns[SPLIT_user])
			user_to_unknown(total, total->ns[SPLIT_user] - most);
	}
}

static int spans_apply(struct partial *p)
{
	struct filtering f = {.p = p};
	int err = holders_fill(&f.holders, p);

	f.known = calloc(p->lives.count + 1, sizeof(*f.known));
	if (!f.known)
		err = -ENOMEM;
	for (size_t i = 0; i < p->spans.count && !err; i++)
		shares_apply(&f, p->spans.data[i]);
	if (!err)
		lives_apply(&f);
	holders_free(&f.holders);
	free(f.known);
	return err;
}

int filters_apply(struct partial *p)
{
	if (!p->filters)
		return 0;
	if (p->filters == FILTER_SPANS)
		return spans_apply(p);
	for (size_t i = 0; i < p->lives.count; i++)
		user_to_unknown(&p->lives.data[i]->total, INT64_MAX);
	for (size_t i = 0; i < p->spans.count; i++) {
		shares_doubt(p, &p->spans.data[i]->active);
		shares_doubt(p, &p->spans.data[i]->seen);
	}
	return 0;
}
