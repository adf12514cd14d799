/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/follow.h"

#include "base/order.h"
#include "map/fact/gaps.h"
#include "map/fact/kind.h"

static int follow_add(struct facts *f, const struct record_head *head)
{
	const struct record_filter *r = (const void *)head;
	struct fact_follow follow = {.time_ns = r->head.time_ns,
				     .pid = r->head.pid,
				     .again = (r->flags & FILTER_AGAIN) != 0};

	return r->flags & FILTER_FOLLOWS ? vec_push(&f->follows, follow) : 0;
}

static int follow_compare(const void *a, const void *b)
{
	const struct fact_follow *x = a, *y = b;

	COMPARE(x->pid, y->pid);
	COMPARE(x->time_ns, y->time_ns);
	return (int)x->again - (int)y->again;
}

static void follow_archive(struct archive *a, void *fact)
{
	struct fact_follow *f = fact;

	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_bool(a, &f->again);
}

struct program_time {
	u64 begin_ns, end_ns; /* of its exec and of the next one; 0 and UINT64_MAX: not seen */
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
 * Behind a gap it holds from when the next recorder tells it, which says nothing of the time
 * before. A flight recorder tells again what was told already.
 */
const struct fact_follow *follow_of(const struct partial *p, u32 pid, struct interval of)
{
	const struct fact_follow *list = p->facts.follows.data;
	struct program_time program = program_at(p, pid, of.begin_ns);
	u64 gap_end_ns = gaps_end_before(p, of.begin_ns);
	u64 begin_ns = program.begin_ns > gap_end_ns ? program.begin_ns : gap_end_ns;
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

/* Leaves of each process the one that holds for spans to come, which is not always the last. */
static int follows_keep(struct partial *p, struct living *l)
{
	const struct interval now = {.begin_ns = p->to_ns, .end_ns = p->to_ns};
	size_t kept = 0, next;

	for (size_t i = 0; i < p->facts.follows.count; i = next) {
		struct fact_follow *list = p->facts.follows.data;
		const struct fact_follow *holds = follow_of(p, list[i].pid, now);
		bool wanted = holds && map_get(&l->pids, list[i].pid);

		for (next = i + 1; next < p->facts.follows.count && list[next].pid == list[i].pid;)
			next++;
		if (wanted)
			list[kept++] = *holds;
	}
	p->facts.follows.count = kept;
	return 0;
}

const struct fact_kind fact_kind_follow = {.add = follow_add,
					   .compare = follow_compare,
					   .archive = follow_archive,
					   .keep = follows_keep};
