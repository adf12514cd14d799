/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that take a thread's time: it runs, calls the kernel, faults, sleeps, and ends. */
#include "simulate_internal.h"

#include <string.h>

void actor_run(struct actor *a, enum split_part part, u64 ns)
{
	a->now += ns;
	a->thread->truth.ns[part] += (s64)ns;
	if (a->depth || a->unborn)
		a->thread->under.ns[part] += (s64)ns;
	if (a->depth && !a->execs)
		a->thread->owned.ns[part] += (s64)ns;
}

struct call {
	u16 nr, file_kind;
	u8 part;
	u16 file_flags;
	bool work; /* it waits for work: idle outside of spans */
};

#define FUTEX_WAIT_BITSET_PRIVATE 137

static const struct call calls[] = {
	{230, 0, SPLIT_timer, 0, false},	  /* clock_nanosleep */
	{0, FILE_KIND_pipe, SPLIT_ipc, 0, false}, /* read */
	{61, 0, SPLIT_child, 0, false},		  /* wait4 */
	{0, FILE_KIND_tcp, SPLIT_network, FILE_MADE, false},
	{0, FILE_KIND_tcp, SPLIT_network, FILE_ACCEPTED, true},
	{43, FILE_KIND_tcp, SPLIT_network, FILE_LISTENS, true}, /* accept */
	{232, FILE_KIND_epoll, SPLIT_network, 0, true},		/* epoll_wait */
	{202, 0, SPLIT_lock, FILE_NONE_FUTEX, true},
	{59, 0, SPLIT_disk, 0, false}, /* execve, by itself */
};
#define CALLS 8
#define CALL_EXECVE (&calls[CALLS])

/* Few futexes, on which threads sleep that others wake. */
static u64 call_arg0(const struct actor *a, const struct call *call)
{
	return call->file_flags & FILE_NONE_FUTEX ? 4096 + 8 * (a->thread->tid % 3) : 0;
}

static struct file_ref call_file(const struct call *call)
{
	struct file_ref file = {
		.key = call->file_kind ? 7 : 0, .kind = call->file_kind, .flags = call->file_flags};

	if (call->file_flags & FILE_NONE_FUTEX)
		file.key = FUTEX_KEY(FUTEX_WAIT_BITSET_PRIVATE, 0);
	return file;
}

/* What ends a wait in the call. */
static struct file_ref waking_file(const struct actor *a, const struct call *call)
{
	if (call->file_kind == FILE_KIND_epoll)
		return (struct file_ref){.key = 9, .kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED};
	if (call->file_flags & FILE_NONE_FUTEX)
		return (struct file_ref){.key = call_arg0(a, call), .flags = FILE_NONE_WORD};
	return (struct file_ref){0};
}

static void call_ends(const struct actor *a, const struct call *call, struct record_syscall *r)
{
	r->nr = call->nr;
	r->arg0 = call_arg0(a, call);
	if (call->file_flags & FILE_NONE_FUTEX)
		r->arg1 = FUTEX_WAIT_BITSET_PRIVATE;
	else
		r->file = call_file(call);
}

/* A sleep counts by its cause, or as idle time. */
static u8 call_part(const struct actor *a, const struct call *call, u8 part)
{
	return call && call->work && part == call->part && !a->depth ? SPLIT_idle : part;
}

/* A sample of what runs, in one of a few stacks. */
static void tells_sample(struct actor *a)
{
	struct record_sample r = {.head = head_of(a),
				  .flags = STACK_PACKED | STACK_KERNEL | STACK_USER,
				  .kernel = 1,
				  .user = 1,
				  .words = 3,
				  .period_ns = 10};
	u64 frames[] = {5, a->now % 3, 1 << 1, 4096 * (a->now % 5 % 2)};

	r.frames_len = sizeof(frames);
	memcpy(r.frames, frames, sizeof(frames));
	actor_emit(a, &r, sizeof(r), RECORD_sample, a->now);
}

void actor_enters(struct actor *a)
{
	struct record_switch sw = {.next_tid = a->thread->tid};

	actor_emit(a, &sw, sizeof(sw), RECORD_switch, a->now);
	a->on_since = a->now;
	if (a->now % 8 == 0)
		tells_sample(a);
}

void actor_leaves(struct actor *a, u8 state, u8 mode, u64 visit, const struct call *call)
{
	struct record_switch sw = {.head = head_of(a), .state = state, .mode = mode};

	if (visit)
		sw.since_ns = a->now - visit;
	if (call && mode == MODE_syscall) {
		sw.nr = call->nr;
		sw.arg0 = call_arg0(a, call);
		sw.file = call_file(call);
	}
	actor_emit(a, &sw, sizeof(sw), RECORD_switch, a->now);
}

void actor_looked_at(struct actor *a, u8 mode, u64 visit, const struct call *call)
{
	struct record_switch sw = {.head = head_of(a),
				   .next_tid = a->thread->tid,
				   .mode = mode,
				   .state = LEAVE_running,
				   .since_ns = visit ? a->now - visit : 0};

	if (a->now % 4)
		return;
	if (call && mode == MODE_syscall)
		sw.nr = call->nr;
	actor_emit(a, &sw, sizeof(sw), RECORD_switch, a->now);
	/* interrupts are off while a thread leaves its CPU: a waking before was in vain, if not in
	 * a call */
	if (!visit || a->s->filters & FILTER_CALLS)
		a->on_since = a->now;
}

void actor_preempted(struct actor *a, u8 mode, u64 visit, const struct call *call)
{
	actor_leaves(a, LEAVE_preempted, mode, visit, call);
	actor_run(a, SPLIT_runnable, some(a, 300));
	actor_enters(a);
}

/*
 * The stack of a wait that just ended, of the kernel or of the program, and now and
 * then what lies there: libraries come and go, and lap over.
 */
static void tells_stack(struct actor *a, u64 since_ns)
{
	u32 flags = 1 + (u32)simulation_random(a->s, 2);
	struct record_stack r = {.head = head_of(a), .flags = flags, .since_ns = since_ns};
	struct record_mapping m = {.since_ns = a->now,
				   .begin = 4096 * simulation_random(a->s, 3),
				   .offset = simulation_random(a->s, 100),
				   .path_len = 8};
	u64 address = simulation_random(a->s, 20000);

	m.end = m.begin + 8192;
	memcpy(m.path, flags & STACK_KERNEL ? "[k]\0\0fun" : "/lib\0abc", m.path_len);
	if (flags & STACK_USER)
		m.head = head_of(a);
	else
		m.since_ns = 0;
	r.words = (u32)simulation_random(a->s, 2);
	r.frames_len = 16;
	memcpy(r.frames, &address, 8);
	memcpy(r.frames + 8, &a->now, 8);
	if (flags & STACK_USER && a->now % 3) { /* two frames and no word */
		r.flags |= STACK_PACKED | (a->now % 2 ? STACK_CUT : 0);
		r.words = 2u << 16;
	}
	if (simulation_random(a->s, 2))
		actor_emit(a, &m, sizeof(m), RECORD_mapping, a->now);
	actor_emit(a, &r, sizeof(r), RECORD_stack, a->now);
}

/* Asleep in a visit or, with MODE_user, stopped; the waking may carry an earlier time. */
void actor_sleeps(struct actor *a, u8 mode, u64 visit, const struct call *call, u8 part)
{
	struct record_waking w = {
		.head = head_of(a), .waker_tid = simulation_waker(a->now), .context = WAKE_task};
	u64 left = a->now, on_since = visit > a->on_since ? visit : a->on_since;
	u8 state = mode == MODE_user ? LEAVE_stopped : LEAVE_sleep;

	if (call == &calls[0])
		w.context = WAKE_timer;
	if (call)
		w.file = waking_file(a, call);
	if (part == SPLIT_disk) {
		state = LEAVE_disk_sleep;
		w.block = WAKE_BLOCK(5, 0);
	}
	actor_leaves(a, state, mode, visit, call);
	part = call_part(a, call, part);
	if (on_since < left && simulation_random(a->s, 3) == 0) {
		u64 early = left - simulation_random(a->s, left - on_since);

		actor_emit(a, &w, sizeof(w), RECORD_waking, early);
	} else {
		actor_run(a, part, some(a, 2000));
		if (simulation_random(a->s, 3) == 0)
			tells_stack(a, left); /* as at a cut: it goes on */
		actor_run(a, part, some(a, 100));
		actor_emit(a, &w, sizeof(w), RECORD_waking, a->now);
	}
	actor_run(a, SPLIT_runnable, some(a, 100));
	actor_enters(a);
	tells_stack(a, left);
}

/* A waking of a thread that does not go to sleep after all: it must change nothing. */
static void woken_in_vain(struct actor *a)
{
	struct record_waking w = {
		.head = head_of(a),
		.waker_tid = simulation_waker(a->now),
		.context = WAKE_task | (a->s->filters & FILTER_CALLS ? SIMULATED_IN_VAIN : 0)};

	actor_run(a, SPLIT_kernel, 1);
	actor_emit(a, &w, sizeof(w), RECORD_waking, a->now);
	actor_run(a, SPLIT_kernel, 1);
}

/* A fault in a call that began at `visit`; some of them go unrecorded. */
static void faults_in_call(struct actor *a, u64 visit)
{
	struct record_fault r = {.head = head_of(a), .flags = FAULT_WRITE};
	u64 begin = a->now;

	actor_run(a, SPLIT_kernel, some(a, 200));
	for (u64 n = simulation_random(a->s, 3); n > 0; n--) {
		if (simulation_random(a->s, 3) == 0)
			actor_preempted(a, MODE_fault | MODE_IN_SYSCALL, visit, NULL);
		else
			actor_sleeps(a, MODE_fault | MODE_IN_SYSCALL, visit, NULL, SPLIT_fault);
		actor_run(a, SPLIT_kernel, some(a, 200));
		actor_looked_at(a, MODE_fault | MODE_IN_SYSCALL, visit, NULL);
	}
	r.duration_ns = a->now - begin;
	if (simulation_random(a->s, 8))
		actor_emit(a, &r, sizeof(r), RECORD_fault, a->now);
}

void does_syscall(struct actor *a)
{
	const struct call *call = &calls[simulation_random(a->s, CALLS)];
	struct record_syscall r = {.head = head_of(a)};
	u64 begin = a->now;

	call_ends(a, call, &r);
	actor_run(a, SPLIT_kernel, some(a, 500));
	actor_looked_at(a, MODE_syscall, begin, call);
	for (u64 n = simulation_random(a->s, 4); n > 0; n--) {
		if (simulation_random(a->s, 4) == 0)
			actor_preempted(a, MODE_syscall, begin, call);
		else
			actor_sleeps(a, MODE_syscall, begin, call, call->part);
		actor_run(a, SPLIT_kernel, some(a, 500));
		actor_looked_at(a, MODE_syscall, begin, call);
		if (simulation_random(a->s, 3) == 0)
			faults_in_call(a, begin);
	}
	if (simulation_random(a->s, 3) == 0)
		woken_in_vain(a);
	actor_looked_at(a, MODE_syscall, begin, call);
	r.duration_ns = a->now - begin;
	r.result = simulation_random(a->s, 5) ? 1 : -2;
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	actor_emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->on_since = a->now;
}

/* A part of an execve that began at `begin`. */
static void execs_on(struct actor *a, u64 begin)
{
	u64 what = simulation_random(a->s, 4);

	actor_run(a, SPLIT_kernel, some(a, 500));
	actor_looked_at(a, MODE_syscall, begin, CALL_EXECVE);
	if (what == 0)
		actor_preempted(a, MODE_syscall, begin, CALL_EXECVE);
	else if (what == 1)
		actor_sleeps(a, MODE_syscall, begin, CALL_EXECVE, CALL_EXECVE->part);
	actor_run(a, SPLIT_kernel, some(a, 500));
}

void actor_execs(struct actor *a, u32 tid)
{
	struct record_exec exec = {.old_tid = a->thread->tid, .command_len = 4, .command = "exec"};
	struct record_syscall r = {.nr = CALL_EXECVE->nr};
	u64 begin = a->now;

	execs_on(a, begin);
	a->execs = true;
	if (tid != a->thread->tid)
		a->thread->renamed_ns = a->now;
	a->thread->tid = tid;
	a->on_since = a->now; /* what woke it before had its number from before */
	exec.head = r.head = head_of(a);
	actor_emit(a, &exec, sizeof(exec), RECORD_exec, a->now);
	execs_on(a, begin);
	r.duration_ns = a->now - begin;
	if (a->depth)
		memcpy(r.ctx.span, &a->spans[a->depth - 1], 8);
	actor_emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	a->execs = false;
	a->depth = 0;
	a->on_since = a->now;
}

void does_fault(struct actor *a)
{
	struct record_fault r = {.head = head_of(a), .flags = FAULT_USER};
	u64 begin = a->now;

	actor_run(a, SPLIT_kernel, some(a, 200));
	if (simulation_random(a->s, 2)) {
		actor_sleeps(a, MODE_fault, begin, NULL, SPLIT_fault);
		actor_run(a, SPLIT_kernel, some(a, 200));
	}
	actor_looked_at(a, MODE_fault, begin, NULL);
	r.duration_ns = a->now - begin;
	actor_emit(a, &r, sizeof(r), RECORD_fault, a->now);
	a->on_since = a->now;
}

/*
 * Asleep in a call when recording begins: the snapshot says so or, if it comes too late for that,
 * the call's end alone does, which has a soft begin.
 */
void actor_was_in_call(struct actor *a)
{
	const struct call *call = &calls[simulation_random(a->s, CALLS)];
	struct record_thread th = {
		.head = head_of(a), .start_ns = a->thread->start_ns, .mode = MODE_syscall};
	struct record_waking w = {
		.head = head_of(a), .waker_tid = simulation_waker(a->now), .context = WAKE_task};
	struct record_syscall r = {.head = head_of(a), .flags = SYSCALL_BEGIN_SOFT};
	u8 part = call_part(a, call, call->part);
	u64 begin = a->now;
	bool late = a->thread->tid % 8 == 0 && a->thread->tid != EXEC_PID && !a->s->filters;

	call_ends(a, call, &r);
	w.file = waking_file(a, call);
	th.nr = r.nr;
	th.state = LEAVE_sleep;
	th.arg0 = call_arg0(a, call);
	th.file = call_file(call);
	actor_run(a, part, some(a, 500));
	th.since_ns = a->now - begin;
	if (!late)
		actor_emit(a, &th, sizeof(th), RECORD_thread, a->now);
	actor_run(a, part, some(a, 2000));
	if (call == &calls[0])
		w.context = WAKE_timer;
	actor_emit(a, &w, sizeof(w), RECORD_waking, a->now);
	actor_run(a, SPLIT_runnable, some(a, 100));
	actor_enters(a);
	actor_run(a, SPLIT_kernel, some(a, 500));
	r.duration_ns = a->now - begin;
	actor_emit(a, &r, sizeof(r), RECORD_syscall, a->now);
	th.flags = THREAD_ON_CPU;
	if (late)
		actor_emit(a, &th, sizeof(th), RECORD_thread, a->now);
	a->on_since = a->now;
}

/* By a signal: the kernel writes its core and takes its memory, and no call is open. */
static void is_killed(struct actor *a, struct record_exit *r)
{
	u64 begin, exit_at = simulation_random(a->s, 4);

	actor_run(a, SPLIT_user, some(a, 500));
	begin = a->now;
	for (u64 n = 0; n < 4; n++) {
		actor_run(a, SPLIT_kernel, some(a, 500));
		actor_looked_at(a, MODE_exit, begin, NULL);
		if (n == exit_at)
			actor_emit(a, r, sizeof(*r), RECORD_exit, a->now);
		else if (simulation_random(a->s, 3) == 0)
			actor_preempted(a, MODE_exit, begin, NULL);
		else
			actor_sleeps(a, MODE_exit, begin, NULL,
				     n < exit_at ? SPLIT_disk : SPLIT_other);
	}
	actor_run(a, SPLIT_kernel, some(a, 900));
	actor_leaves(a, LEAVE_dead, MODE_exit, begin, NULL);
}

/* It begins to end; now and then the record of its last switch was lost. */
void actor_dies(struct actor *a)
{
	struct record_exit r = {.head = head_of(a), .code = 256 * (s32)simulation_random(a->s, 3)};
	u64 way = simulation_random(a->s, 3);

	if (way == 0) {
		r.code = 9;
		is_killed(a, &r);
	} else if (way == 1) {
		actor_preempted(a, MODE_user, 0, NULL);
		actor_emit(a, &r, sizeof(r), RECORD_exit, a->now);
	} else {
		actor_emit(a, &r, sizeof(r), RECORD_exit, a->now);
		actor_leaves(a, LEAVE_dead, MODE_user, 0, NULL);
	}
	a->thread->end_ns = a->now;
}
