/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of detail that change while threads run: makes of a complete recording what programs of
 * the kernel record that follow calls at some times only.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "simulate_internal.h"

#define BEHIND_ALL ((size_t)1 << 40) /* in the order of records at the same time */

/* What the programs know of a thread. */
struct followed {
	u64 since; /* number of the raise since which its calls are recorded */
	bool told; /* there is one */
	bool on_cpu;
	bool exits; /* its last switch may be lost */
	u32 tid, pid;
};

struct levels {
	struct simulation *s;
	struct followed threads[64]; /* by tid */
	u64 raise;     /* number of the last raise; 0: calls are recorded from the begin on */
	u64 raised_ns; /* when that was */
	bool calls;    /* are recorded now */
	size_t next;   /* change */
	size_t order;  /* of the record that is looked at */
};

static struct followed *followed_of(struct levels *v, u32 tid)
{
	return &v->threads[(tid - FIRST_TID) % 64];
}

/* Whether the scope of the thread is at `calls` then. */
static bool is_wanted(const struct levels *v, const struct followed *f, u64 time_ns)
{
	u64 turn = time_ns * 8 / (v->s->to_ns + 1 - v->s->from_ns);

	return !v->s->scoped || hash_pair((u64)(f - v->threads) + v->s->from_ns, turn) % 2;
}

static bool is_followed(const struct levels *v, const struct followed *f)
{
	return v->calls && f->told && f->since == v->raise;
}

/* A record of the thread's own says what it does now. True: it is the first since the raise. */
static bool follows(struct levels *v, struct followed *f)
{
	bool first = !is_followed(v, f);

	f->told = true;
	f->since = v->raise;
	return first;
}

/* Whether the thread's visit that began then is followed, as its scope was or is. */
static bool visit_follows(const struct levels *v, const struct followed *f, u64 begin_ns)
{
	return v->calls && begin_ns >= v->raised_ns &&
	       (is_followed(v, f) || is_wanted(v, f, begin_ns));
}

/* The thread says on its CPU that none of its calls is recorded from now on. */
static void thread_look(struct levels *v, const struct followed *f, u64 time_ns, size_t order)
{
	struct actor a = {.s = v->s};
	struct record_switch sw = {.head = {.tid = f->tid, .pid = f->pid},
				   .next_tid = f->tid,
				   .state = LEAVE_running | LEAVE_BEFORE_UNKNOWN};

	actor_emit(&a, &sw, sizeof(sw), RECORD_switch, time_ns);
	v->s->records.data[v->s->records.count - 1].order = order;
}

/* False: the call is not recorded. Behind it a thread out of scope is not followed any more. */
static bool call_levels(struct levels *v, struct record_syscall *r)
{
	struct followed *f = followed_of(v, r->head.tid);
	bool wanted = is_wanted(v, f, r->head.time_ns), follow;

	follow = visit_follows(v, f, r->head.time_ns - r->duration_ns);
	if (!v->calls || !(follow || wanted || is_followed(v, f)))
		return false;
	if (!follow) {
		r->flags = SYSCALL_BEGIN_UNKNOWN;
		r->duration_ns = 0;
	}
	if (follows(v, f))
		r->flags |= SYSCALL_BEFORE_UNKNOWN;
	if (wanted)
		return true;
	f->told = false;
	f->tid = r->head.tid;
	thread_look(v, f, r->head.time_ns, v->order + 1);
	return true;
}

static bool fault_levels(struct levels *v, struct record_fault *r)
{
	struct followed *f = followed_of(v, r->head.tid);

	if (!visit_follows(v, f, r->head.time_ns - r->duration_ns))
		return false;
	if (!(r->flags & FAULT_USER))
		return is_followed(v, f);
	if (follows(v, f))
		r->flags |= FAULT_BEFORE_UNKNOWN;
	return true;
}

static void switch_levels(struct levels *v, struct record_switch *sw)
{
	struct followed *prev = sw->head.tid ? followed_of(v, sw->head.tid) : NULL;
	struct followed *next = sw->next_tid ? followed_of(v, sw->next_tid) : NULL;
	bool exits = (sw->mode & MODE_MASK) == MODE_exit;
	bool seen = prev && sw->since_ns && visit_follows(v, prev, sw->head.time_ns - sw->since_ns);

	if (prev && sw->state != LEAVE_running)
		prev->on_cpu = false;
	if (next && sw->state != LEAVE_running) {
		next->on_cpu = true;
		next->tid = sw->next_tid;
	}
	if (prev && !is_followed(v, prev))
		sw->state |= LEAVE_BEFORE_UNKNOWN;
	if (prev && seen && !exits)
		follows(v, prev);
	if (!seen && !exits && !(prev && is_followed(v, prev))) {
		sw->since_ns = 0;
		sw->mode &= (u8)~MODE_IN_SYSCALL;
	}
	if (next && !is_followed(v, next))
		sw->state |= LEAVE_NEXT_UNCALLED;
}

/* The thread goes on under another number. */
static void exec_levels(struct levels *v, const struct record_exec *r)
{
	struct followed *old = followed_of(v, r->old_tid), f = *old;

	if (!r->old_tid || r->old_tid == r->head.tid)
		return;
	*old = (struct followed){0};
	f.tid = r->head.tid;
	*followed_of(v, r->head.tid) = f;
}

static bool record_levels(struct levels *v, struct record_head *r)
{
	switch (r->kind) {
	case RECORD_fork:
		*followed_of(v, r->tid) = (struct followed){
			.told = v->calls && is_wanted(v, followed_of(v, r->tid), r->time_ns),
			.since = v->raise};
		break;
	case RECORD_exit:
		followed_of(v, r->tid)->exits = true;
		break;
	case RECORD_exec:
		exec_levels(v, (void *)r);
		break;
	case RECORD_thread:
		if (v->s->scoped || !v->calls ||
		    r->time_ns - ((struct record_thread *)r)->since_ns < v->raised_ns)
			((struct record_thread *)r)->since_ns = 0;
		break;
	case RECORD_syscall:
		return call_levels(v, (void *)r);
	case RECORD_fault:
		return fault_levels(v, (void *)r);
	case RECORD_switch:
		switch_levels(v, (void *)r);
		break;
	case RECORD_waking:
		return !(((struct record_waking *)r)->context & SIMULATED_IN_VAIN);
	default:
		break;
	}
	return true;
}

/* Capture looks at each CPU behind the flag, so that each thread there has a record that says so.
 */
static void threads_look(struct levels *v, u64 time_ns)
{
	for (size_t i = 0; i < 64; i++) {
		const struct followed *f = &v->threads[i];

		if (f->on_cpu && !f->exits && f->tid)
			thread_look(v, f, time_ns, BEHIND_ALL + i);
	}
}

void simulation_level_tell(struct simulation *s, u64 time_ns)
{
	struct actor a = {.s = s};
	bool calls = s->calls_first;
	struct record_filter r = {0};

	for (size_t i = 0; i < s->levels.count && s->levels.data[i] <= time_ns; i++)
		calls = !calls;
	r.flags = (calls && !s->scoped ? 0 : FILTER_CALLS) | (s->levels.count ? FILTER_DETAIL : 0);
	if (calls && s->scoped)
		r.flags |= FILTER_SCOPES;
	else if (!calls && s->levels.count && hash_pair(s->from_ns, time_ns) % 2)
		r.flags |= FILTER_BYTES;
	actor_emit(&a, &r, sizeof(r), RECORD_filter, time_ns);
}

static void level_change(struct levels *v)
{
	u64 time_ns = v->s->levels.data[v->next++];

	v->calls = !v->calls;
	if (v->calls) {
		v->raise++;
		v->raised_ns = time_ns;
	} else {
		threads_look(v, time_ns);
	}
}

static void levels_apply(struct simulation *s)
{
	struct levels v = {.s = s, .calls = s->calls_first};
	size_t n = 0, count = s->records.count;

	for (size_t i = 0; i < 64; i++)
		v.threads[i].told = s->calls_first && !s->scoped;
	v.raised_ns = s->scoped ? s->from_ns : 0;
	for (size_t i = 0; i < count; i++)
		s->records.data[i].order *= 2; /* there is room behind each */
	for (size_t i = 0; i < count; i++) {
		struct simulated_record at = s->records.data[i];
		struct record_head *r;

		while (v.next < s->levels.count && s->levels.data[v.next] < at.time_ns)
			level_change(&v);
		v.order = at.order;
		r = (void *)(s->bytes.data + at.at);
		if (r->tid >= FIRST_TID && r->tid < FIRST_TID + 64)
			followed_of(&v, r->tid)->pid = r->pid;
		if (record_levels(&v, r))
			s->records.data[n++] = at;
	}
	/* the looks were added behind */
	for (size_t i = count; i < s->records.count; i++)
		s->records.data[n++] = s->records.data[i];
	s->records.count = n;
}

static int time_compare(const void *x, const void *y)
{
	const u64 *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void simulate_changes(struct simulation *s, u64 changes)
{
	for (u64 i = 0; i < changes; i++)
		vec_push(&s->levels, s->from_ns + 1 + simulation_random(s, s->to_ns - s->from_ns));
	if (changes)
		qsort(s->levels.data, s->levels.count, sizeof(*s->levels.data), time_compare);
	levels_apply(s);
	simulation_level_tell(s, s->from_ns);
	for (size_t i = 0; i < s->levels.count; i++)
		simulation_level_tell(s, s->levels.data[i]);
	simulation_sort(s);
}

void simulate_levels(struct simulation *s, u64 seed, int threads, int actions)
{
	simulation_begin(s, seed, threads, actions, FILTER_CALLS);
	s->filters = 0;
	s->calls_first = simulation_random(s, 2);
	simulate_changes(s, 1 + simulation_random(s, 6));
}

void simulate_scopes(struct simulation *s, u64 seed, int threads, int actions)
{
	u64 changes;

	simulation_begin(s, seed, threads, actions, FILTER_CALLS);
	s->filters = 0;
	s->scoped = true;
	changes = simulation_random(s, 3);
	s->calls_first = !changes || simulation_random(s, 2);
	simulate_changes(s, changes);
}
