/* SPDX-License-Identifier: Apache-2.0 */
/* Records that a recording lacks: left out on request, not recorded at all, or lost. */
#include <stdio.h>

#include "simulate_internal.h"

/* The state of a thread, by its id. */
struct follows {
	int open; /* spans */
	bool born, ran;
	bool execs; /* it became another program: its spans are over with its call */
};

/* Whether a thread's record comes while it has no span; an execve is under that of its begin. */
static bool is_under_none(const struct record_head *r, struct follows *f, bool first)
{
	const struct record_switch *sw = (const void *)r;
	bool none;

	switch (r->kind) {
	case RECORD_span_begin:
		f->open++;
		return false;
	case RECORD_span_end:
		f->open--;
		return false;
	case RECORD_switch:
		return !f->open && !first && (!r->tid || sw->state != LEAVE_dead);
	case RECORD_exec:
		f->execs = true;
		return false;
	case RECORD_syscall:
		none = !f->open;
		if (f->execs)
			f->open = 0;
		f->execs = false;
		return none;
	case RECORD_waking:
	case RECORD_fault:
	case RECORD_event:
		return !f->open;
	default:
		return false;
	}
}

static bool is_filtered(const struct simulation *s, u64 time_ns)
{
	return s->filters && time_ns >= s->filtered_from_ns && time_ns < s->filtered_to_ns;
}

/* Without calls: a call or a fault, or a waking that ended no sleep. A switch keeps all but since
 * when. */
static bool is_of_calls(struct record_head *r)
{
	struct record_switch *sw = (void *)r;

	if (r->kind == RECORD_thread)
		((struct record_thread *)r)->since_ns = 0;
	if (r->kind == RECORD_switch && (sw->mode & MODE_MASK) != MODE_exit)
		sw->since_ns = 0;
	if (r->kind == RECORD_switch) {
		sw->mode &= (u8)~MODE_IN_SYSCALL;
		sw->state |= LEAVE_BEFORE_UNKNOWN | LEAVE_NEXT_UNCALLED;
	}
	return r->kind == RECORD_syscall || r->kind == RECORD_fault ||
	       (r->kind == RECORD_waking &&
		((struct record_waking *)r)->context & SIMULATED_IN_VAIN);
}

static bool is_left_out(struct simulation *s, struct record_head *r, struct follows *of)
{
	u32 filters = is_filtered(s, r->time_ns) ? s->filters : 0;
	u32 tid = r->tid ? r->tid : ((struct record_switch *)r)->next_tid;
	u32 old_tid = r->kind == RECORD_exec ? ((struct record_exec *)r)->old_tid : 0;
	struct follows *f = &of[tid - FIRST_TID];
	bool first = r->kind == RECORD_switch && f->born && !f->ran;

	if (old_tid)
		*f = of[old_tid - FIRST_TID];
	if (r->kind == RECORD_fork)
		*f = (struct follows){.born = true};
	if (r->kind == RECORD_switch)
		f->ran = true;
	if (r->kind == RECORD_thread && filters & FILTER_SPANS)
		((struct record_thread *)r)->flags |= THREAD_UNFOLLOWED;
	if (is_under_none(r, f, first) && filters & FILTER_SPANS)
		return true;
	if (filters & FILTER_SPANS && r->kind == RECORD_switch && !f->open) {
		((struct record_switch *)r)->mode = MODE_user; /* its end alone is told */
		((struct record_switch *)r)->since_ns = 0;
	}
	if (filters & FILTER_CALLS && is_of_calls(r))
		return true;
	return filters & FILTER_SYSCALLS && r->kind == RECORD_syscall &&
	       ((struct record_syscall *)r)->nr == 0;
}

/* When a recording begins: and whom it follows. */
static void filters_tell(struct simulation *s, u64 time_ns)
{
	struct actor a = {.s = s};
	struct record_filter filter = {.flags = s->filters};
	struct record_filter follows = {.flags = s->filters | FILTER_FOLLOWS};

	actor_emit(&a, &filter, sizeof(filter), RECORD_filter, time_ns);
	for (follows.head.pid = FIRST_TID; follows.head.pid <= EXEC_PID; follows.head.pid++)
		actor_emit(&a, &follows, sizeof(follows), RECORD_filter, time_ns);
}

void simulation_filter(struct simulation *s)
{
	struct actor a = {.s = s};
	struct record_filter follows = {.flags = s->filters | FILTER_FOLLOWS};
	size_t n = 0, count = s->records.count;
	struct follows of[64] = {0};

	for (size_t i = 0; i < count; i++)
		if (!is_left_out(s, (void *)(s->bytes.data + s->records.data[i].at), of))
			s->records.data[n++] = s->records.data[i];
	s->records.count = count = n;
	filters_tell(s, s->filtered_from_ns);
	for (size_t i = 0; i < count; i++) { /* each program is found anew */
		struct simulated_record *r = &s->records.data[i];

		follows.head.pid = simulation_record(s, i)->pid;
		if (simulation_record(s, i)->kind == RECORD_exec && is_filtered(s, r->time_ns))
			actor_emit(&a, &follows, sizeof(follows), RECORD_filter, r->time_ns);
	}
	simulation_sort(s);
}

void simulation_gap(struct simulation *s, u64 begin_ns, u64 end_ns)
{
	struct actor a = {.s = s};
	struct record_gap gap = {.begin_ns = begin_ns};
	size_t n = 0;

	for (size_t i = 0; i < s->records.count; i++) {
		u64 t = s->records.data[i].time_ns;

		if (t < begin_ns || t >= end_ns)
			s->records.data[n++] = s->records.data[i];
	}
	s->records.count = n;
	actor_emit(&a, &gap, sizeof(gap), RECORD_gap, end_ns);
	s->records.data[n].order = 0; /* before what else happened then */
	if (is_filtered(s, end_ns))
		filters_tell(s, end_ns);
	if (s->levels.count || s->scoped)
		simulation_level_tell(s, end_ns);
	for (size_t i = 0; i < s->threads.count; i++) { /* the snapshot finds some again */
		const struct simulated_thread *t = &s->threads.data[i];
		struct record_thread r = {.head = {.tid = t->tid, .pid = t->pid},
					  .start_ns = t->start_ns,
					  .flags = THREAD_ON_CPU};

		r.comm_len = (u8)snprintf(r.comm, sizeof(r.comm), "%llu",
					  (unsigned long long)t->start_ns);

		if (t->renamed_ns > end_ns)
			r.head.tid++;
		if (r.head.tid % 2 || t->end_ns <= end_ns || t->begin_ns >= end_ns)
			continue;
		actor_emit(&a, &r, sizeof(r), RECORD_thread, end_ns);
		if (!t->born)
			actor_emit(&a, &r, sizeof(r), RECORD_thread, s->from_ns);
	}
	simulation_sort(s);
}

/* Emits the records by which a reader reports a loss: one at its begin, one at its end. */
static void loss_emit(struct simulation *s, u16 cpu, struct record_lost end, u64 begin_ns,
		      u64 end_ns)
{
	struct actor a = {.s = s};
	struct record_lost begin = end;

	begin.count = LOST_BEGINS;
	begin.begin_ns = end.begin_ns = begin_ns;
	actor_emit(&a, &begin, sizeof(begin), RECORD_lost, begin_ns);
	actor_emit(&a, &end, sizeof(end), RECORD_lost, end_ns);
	for (size_t i = s->records.count - 2; i < s->records.count; i++)
		((struct record_head *)(s->bytes.data + s->records.data[i].at))->cpu = cpu;
}

void simulation_loss(struct simulation *s, u64 begin_ns, u64 end_ns, u16 cpu)
{
	struct record_lost lost = {.why = LOST_buffer};
	size_t n = 0;

	if (end_ns > s->to_ns)
		end_ns = s->to_ns;
	if (begin_ns >= end_ns)
		return;
	for (size_t i = 0; i < s->records.count; i++) {
		const struct simulated_record *r = &s->records.data[i];
		const struct record_head *head = simulation_record(s, i);

		if (r->time_ns >= begin_ns && r->time_ns < end_ns && head->cpu == cpu &&
		    head->kind != RECORD_lost && r->time_ns != s->from_ns)
			lost.count++;
		else
			s->records.data[n++] = *r;
	}
	s->records.count = n;
	loss_emit(s, cpu, lost, begin_ns, end_ns);
	simulation_sort(s);
}

static bool is_of_cpu(const struct record_head *r, struct simulated_cpus cpus)
{
	switch (r->kind) {
	case RECORD_switch:
	case RECORD_waking:
	case RECORD_syscall:
	case RECORD_fault:
	case RECORD_event:
	case RECORD_uring:
	case RECORD_block:
	case RECORD_bytes:
		return r->cpu >= cpus.first && r->cpu < cpus.first + cpus.count;
	default:
		return false;
	}
}

void simulation_damage(struct simulation *s, enum record_loss why, u64 begin_ns, u64 end_ns,
		       struct simulated_cpus cpus)
{
	u64 counts[8] = {0};
	size_t n = 0;

	if (end_ns > s->to_ns)
		end_ns = s->to_ns;
	for (size_t i = 0; i < s->records.count; i++) {
		const struct simulated_record *r = &s->records.data[i];
		const struct record_head *head = simulation_record(s, i);

		if (r->time_ns < begin_ns || r->time_ns >= end_ns || !is_of_cpu(head, cpus) ||
		    (why != LOST_damaged && simulation_random(s, 3) == 0))
			s->records.data[n++] = *r;
		else
			counts[head->cpu] += why != LOST_damaged;
	}
	s->records.count = n;
	for (u16 i = cpus.first; i < cpus.first + cpus.count && begin_ns < end_ns; i++)
		loss_emit(s, i, (struct record_lost){.why = (u16)why, .count = counts[i]}, begin_ns,
			  end_ns);
	simulation_sort(s);
}

void simulation_lose(struct simulation *s, int times)
{
	for (int i = 0; i < times; i++) {
		u64 begin = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);

		simulation_loss(s, begin, begin + simulation_random(s, 3000) + 1,
				(u16)simulation_random(s, 4));
	}
}

static bool is_of_program(const struct record_head *r, u32 pid)
{
	switch (r->kind) {
	case RECORD_span_begin:
	case RECORD_span_end:
	case RECORD_span_attach:
	case RECORD_span_detach:
		return r->pid == pid;
	default:
		return false;
	}
}

static void program_mute(struct simulation *s, u32 pid, u64 begin_ns, u64 end_ns)
{
	struct record_lost lost = {.head = {.tid = pid, .pid = pid, .cpu = 0xffff},
				   .why = LOST_application,
				   .begin_ns = begin_ns};
	struct actor a = {.s = s};
	size_t n = 0;

	for (size_t i = 0; i < s->records.count; i++) {
		const struct simulated_record *r = &s->records.data[i];

		if (r->time_ns >= begin_ns && r->time_ns < end_ns &&
		    is_of_program(simulation_record(s, i), pid) && simulation_random(s, 2))
			lost.count++;
		else
			s->records.data[n++] = *r;
	}
	s->records.count = n;
	actor_emit(&a, &lost, sizeof(lost), RECORD_lost, end_ns);
	simulation_sort(s);
}

void simulation_mute(struct simulation *s, int times)
{
	for (int i = 0; i < times; i++) {
		u64 begin = s->from_ns + simulation_random(s, s->to_ns - s->from_ns);
		u64 end = begin + 1 + simulation_random(s, 5000);

		program_mute(s, s->threads.data[simulation_random(s, s->threads.count)].pid, begin,
			     end < s->to_ns ? end : s->to_ns);
	}
}
