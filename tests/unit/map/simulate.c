/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate_internal.h"

#include <stdlib.h>

#include "base/hash.h"

u64 simulation_random(struct simulation *s, u64 below)
{
	s->random = hash_u64(s->random + 0x9e3779b97f4a7c15u);
	return s->random % below;
}

/* Events at the same time are on the same CPU. */
u16 simulation_cpu(u64 time_ns)
{
	return (u16)(hash_u64(time_ns) % 4);
}

void actor_emit(struct actor *a, void *record, size_t bytes, u8 kind, u64 time_ns)
{
	struct simulation *s = a->s;
	struct record_head *head = record;
	static const char zero[8];

	head->kind = kind;
	head->time_ns = time_ns;
	head->cpu = simulation_cpu(time_ns);
	vec_push(&s->records, (struct simulated_record){time_ns, s->records.count, s->bytes.count});
	bytes_put(&s->bytes, record, bytes);
	bytes_put(&s->bytes, zero, (8 - bytes % 8) % 8);
}

static void act(struct actor *a)
{
	actor_run(a, SPLIT_user, some(a, 1000));
	actor_looked_at(a, MODE_user, 0, NULL);
	switch (simulation_random(a->s, 20)) {
	case 0:
		actor_preempted(a, MODE_user, 0, NULL);
		break;
	case 1:
		does_fault(a);
		break;
	case 2:
		does_span(a);
		break;
	case 3: /* whether it was woken in a call that is left out cannot be told then */
		if (a->s->filters & FILTER_SYSCALLS)
			actor_preempted(a, MODE_user, 0, NULL);
		else
			actor_sleeps(a, MODE_user, 0, NULL, SPLIT_other);
		break;
	case 4:
	case 5:
		does_event(a);
		break;
	case 6:
	case 7:
		does_files(a);
		break;
	case 8:
		does_request(a);
		break;
	case 9:
		does_exec(a);
		break;
	case 10:
	case 11:
		does_bytes(a);
		break;
	case 12:
	case 13:
		does_tell(a);
		break;
	case 14:
		does_block(a);
		break;
	case 15:
		does_move(a);
		break;
	default:
		does_syscall(a);
	}
}

/* Half of the threads are born here, of the others half were asleep in a call. */
static void live(struct actor *a, int actions)
{
	struct simulated_thread *t = a->thread;

	t->start_ns = t->born ? a->now : 5 + t->tid;
	if (t->born) {
		struct record_fork f = {.head = head_of(a),
					.parent_tid = FIRST_TID,
					.parent_pid = FIRST_TID,
					.start_ns = a->now,
					.comm_len = 4,
					.comm = "born"};

		actor_emit(a, &f, sizeof(f), RECORD_fork, a->now);
		a->unborn = true;
		actor_run(a, SPLIT_runnable, some(a, 100));
		a->unborn = false;
		actor_enters(a);
	} else if (t->tid % 4 == 0) {
		actor_was_in_call(a);
	} else {
		actor_run(a, SPLIT_user, some(a, 100));
		actor_preempted(a, MODE_user, 0, NULL);
	}
	for (int i = 0; i < actions; i++)
		act(a);
}

/* It dies, or is runnable until the end. */
static void ends(struct actor *a, bool dead)
{
	if (dead) {
		actor_dies(a);
		return;
	}
	actor_leaves(a, LEAVE_preempted, MODE_user, 0, NULL);
	a->thread->ends_under = a->depth;
	a->thread->end_ns = 0;
}

void simulate(struct simulation *s, u64 seed, int threads, int actions)
{
	simulate_filtered(s, seed, threads, actions, 0);
}

static int record_compare(const void *x, const void *y)
{
	const struct simulated_record *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void simulation_sort(struct simulation *s)
{
	qsort(s->records.data, s->records.count, sizeof(*s->records.data), record_compare);
}

static struct actor thread_begin(struct simulation *s, u32 tid, u32 pid, u64 begin_ns)
{
	struct simulated_thread t = {.tid = tid, .pid = pid, .begin_ns = begin_ns};

	t.born = begin_ns > s->from_ns;
	vec_push(&s->threads, t);
	return (struct actor){
		.s = s, .thread = &s->threads.data[s->threads.count - 1], .now = begin_ns};
}

/* A thread, and those that get its number when it has died. */
static void simulate_number(struct simulation *s, u32 tid, int actions)
{
	u64 begin = s->from_ns + (tid % 2 ? 1 + simulation_random(s, 5000) : 0);

	for (bool again = true; again; begin += 1 + simulation_random(s, 3000)) {
		struct actor a = thread_begin(s, tid, tid % 5 == 3 ? tid : FIRST_TID, begin);

		live(&a, actions);
		ends(&a, tid % 3 == 0);
		begin = a.now;
		again = tid % 3 == 0 && simulation_random(s, 2);
		actions = actions / 2 + 1;
	}
}

/* The thread that runs a program gets the number of the leader, which has just died of it. */
static void simulate_exec(struct simulation *s, int actions)
{
	struct actor leader = thread_begin(s, EXEC_PID, EXEC_PID, s->from_ns), a;

	live(&leader, actions / 4);
	ends(&leader, true);
	a = thread_begin(s, EXEC_PID + 1, EXEC_PID, s->from_ns + 1000);
	live(&a, actions / 2);
	while (a.now <= leader.now)
		act(&a);
	actor_execs(&a, EXEC_PID);
	for (int i = 0; i < actions / 2; i++)
		act(&a);
	ends(&a, simulation_random(s, 2));
}

/* Records the first process, from which all others come, and its cgroup. */
static void simulate_snapshot(struct simulation *s)
{
	struct actor a = {.s = s};
	struct record_head first = {.tid = FIRST_TID, .pid = FIRST_TID};
	struct record_thread there = {
		.head = first, .start_ns = 5 + FIRST_TID, .flags = THREAD_ON_CPU};
	struct record_cgroup_attach r = {.head = first, .flags = CGROUP_FOUND};

	actor_emit(&a, &there, sizeof(there), RECORD_thread, s->from_ns);
	for (r.hierarchy = 0; r.hierarchy < 2; r.hierarchy++) {
		r.cgroup = 1 + simulation_random(s, 4);
		actor_emit(&a, &r, sizeof(r), RECORD_cgroup_attach, s->from_ns);
	}
}

static int thread_compare(const void *x, const void *y)
{
	const struct simulated_thread *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Threads that did not end are runnable until the last thread has finished. */
static void threads_end(struct simulation *s)
{
	for (size_t i = 0; i < s->records.count; i++)
		if (s->records.data[i].time_ns >= s->to_ns)
			s->to_ns = s->records.data[i].time_ns + 10;
	for (size_t i = 0; i < s->threads.count; i++) {
		struct simulated_thread *t = &s->threads.data[i];
		s64 rest = (s64)(s->to_ns - t->begin_ns) - split_total(&t->truth);

		if (!t->end_ns) {
			t->end_ns = s->to_ns;
			t->truth.ns[SPLIT_runnable] += rest;
			t->under.ns[SPLIT_runnable] += t->ends_under ? rest : 0;
			t->owned.ns[SPLIT_runnable] += t->ends_under ? rest : 0;
		}
	}
	qsort(s->threads.data, s->threads.count, sizeof(*s->threads.data), thread_compare);
}

void simulation_begin(struct simulation *s, u64 seed, int threads, int actions, u32 filters)
{
	*s = (struct simulation){.random = seed, .from_ns = 1000000, .filters = filters};
	for (int i = 0; i < threads; i++)
		simulate_number(s, FIRST_TID + (u32)i, actions);
	simulate_exec(s, actions);
	simulate_snapshot(s);
	threads_end(s);
	simulation_sort(s);
	simulation_name_wakers(s);
}

void simulate_filtered(struct simulation *s, u64 seed, int threads, int actions, u32 filters)
{
	simulation_begin(s, seed, threads, actions, filters);
	s->filtered_from_ns = s->from_ns;
	s->filtered_to_ns = UINT64_MAX;
	if (filters)
		simulation_filter(s);
}

struct simulated_gap simulate_filtered_once(struct simulation *s, u64 seed, u32 filters,
					    bool second)
{
	struct simulated_gap gap;

	simulation_begin(s, seed, 5, 40, filters);
	gap.begin_ns = s->from_ns + 1 + simulation_random(s, s->to_ns - s->from_ns - 1);
	gap.end_ns = gap.begin_ns + 1 + simulation_random(s, 9000);
	s->filtered_from_ns = second ? gap.end_ns : s->from_ns;
	s->filtered_to_ns = second ? UINT64_MAX : gap.begin_ns;
	simulation_filter(s);
	simulation_gap(s, gap.begin_ns, gap.end_ns);
	return gap;
}

void simulation_free(struct simulation *s)
{
	vec_free(&s->levels);
	vec_free(&s->records);
	vec_free(&s->threads);
	bytes_free(&s->bytes);
}
