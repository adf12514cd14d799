/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the programs keep of each thread. It comes and goes with the thread, so that a reused tid
 * inherits nothing.
 *
 * Each thread has a place in an array, by its address, which needs no call of the kernel to be
 * looked up. task_newtask and sched_process_free see to its coming and going. Where another
 * thread has that place already, its state is apart (bpf/kernel_versions.h).
 *
 * Who is in scope: with scope_host every thread but those of capture itself;
 * else the threads whose state says so. State is made by the fork program
 * (children inherit), by the snapshot (scope_pids), by a move into a cgroup and, for the command
 * that capture starts, by the iterator scope_seeds. That a thread has none is remembered until
 * another one is made (bpf/caller.h).
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "bpf/kernel_versions.h"
#include "bpf/ring.h"
#include "bpf/thread_state.h"

/* Set by capture before the programs are loaded. */
const volatile bool scope_host __weak = false;
const volatile bool spans_only __weak = false;

/*
 * Capture's own process, as the kernel numbers it, and its pid namespace with that one's
 * depth (0: the initial one): found by own_find() before the programs are attached.
 */
u32 own_tgid __weak = 0;
u32 own_level __weak = 0;
u64 own_namespace __weak = 0;

/*
 * Set when all programs are attached: until then they keep state and write no
 * record, so that no thread is recorded by some of them only.
 */
u32 recording __weak = 0;
u64 recording_ns __weak = 0; /* since when; set before it */

/* Set while they run: grows with each change of `locations`. */
u32 context_generation __weak = 0;

#define STATE_PLACES_BITS 13

/* Mapped by nobody: but then they begin on a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << STATE_PLACES_BITS);
	__type(key, u32);
	__type(value, struct thread_state);
} state_places SEC(".maps") __weak;

u64 states_made __weak = 0; /* grows behind each */

/* Set for good when a thread's state is not in its place. */
u32 states_apart __weak = 0;

/* Where each process (tgid) keeps its context. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct context_location);
} locations SEC(".maps") __weak;

/* What each process (tgid) executed while it was in scope. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct context_executed);
} executed SEC(".maps") __weak;

#define PROGRAMS_MAX 4096 /* the one that was not executed for the longest time goes */

/*
 * Where the processes of a program have it, for those to come; known = 0: not all have it at one
 * place. Capture writes it, an exec reads it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROGRAMS_MAX);
	__type(key, struct context_program);
	__type(value, struct context_location);
} program_locations SEC(".maps") __weak;

/* The number of a thread in capture's own pid namespace; 0: it is not to be seen there. */
static __always_inline u32 own_number(struct task_struct *task)
{
	struct upid seen = {};
	u32 pid = task->pid;

	barrier_var(pid); /* or one load is made for both results, of two kinds of memory */
	if (own_level == 0)
		return pid;
	if (own_level > 32 || task->thread_pid->level < own_level ||
	    bpf_probe_read_kernel(&seen, sizeof(seen), &task->thread_pid->numbers[own_level]) ||
	    (u64)seen.ns != own_namespace)
		return 0;
	return seen.nr;
}

/* A number to the verifier. */
static __always_inline u32 half_of_address(const void *address)
{
	u32 half;

	__asm__ volatile("%0 = %1" : "=w"(half) : "w"((u32)(u64)address));
	return half;
}

static __always_inline u32 state_place_of(const struct task_struct *task)
{
	return (half_of_address(task) >> 6) * 0x9e3779b1 >> (32 - STATE_PLACES_BITS);
}

static __always_inline struct thread_state *state_place(const struct task_struct *task)
{
	u32 at = state_place_of(task);

	return bpf_map_lookup_elem(&state_places, &at);
}

static __always_inline bool state_is_placed(const struct thread_state *place,
					    const struct task_struct *task)
{
	return place && *(volatile u64 *)&place->task == (u64)task;
}

/* State of a thread that has one; else NULL. */
static __always_inline struct thread_state *state_known(struct task_struct *task)
{
	struct thread_state *place = state_place(task);

	if (state_is_placed(place, task))
		return place;
	return *(volatile u32 *)&states_apart ? state_apart(task) : NULL;
}

/* It has none, or did not have any a moment ago; `flags` as for state_apart_begin(). */
static __noinline struct thread_state *state_begin(struct task_struct *task, u64 flags)
{
	struct thread_state *place = state_place(task);
	u64 owner = place ? __sync_val_compare_and_swap(&place->task, 0, (u64)task) : 1;

	if (owner != 0 && owner != (u64)task) {
		states_apart = 1;
		place = state_apart_begin(task, flags);
	}
	__sync_fetch_and_add(&states_made, 1);
	return place;
}

/* The same, zero if it had none. NULL: there is no memory, or not at this moment. */
static __always_inline struct thread_state *state_make(struct task_struct *task)
{
	struct thread_state *state = state_known(task);

	return state ? state : state_begin(task, BPF_NOEXIST);
}

/* The place is free, and blank, for another thread. */
static __always_inline void state_leave_place(struct task_struct *task)
{
	struct thread_state *place = state_place(task);

	if (!state_is_placed(place, task))
		return;
	__builtin_memset((void *)place + sizeof(place->task), 0,
			 sizeof(*place) - sizeof(place->task));
	barrier();
	*(volatile u64 *)&place->task = 0;
}

static __always_inline void state_drop(struct task_struct *task)
{
	state_leave_place(task);
	if (*(volatile u32 *)&states_apart)
		state_apart_drop(task);
}

/* The address may have been another thread's, which could not be dropped in its time. */
static __always_inline struct thread_state *state_make_new(struct task_struct *task)
{
	state_leave_place(task);
	return state_begin(task, BPF_ANY);
}

/* Of a recorded host: is the thread recorded, of which there is no state to say so? */
static __always_inline bool stateless_in(u32 tgid)
{
	return *(volatile u32 *)&recording && tgid != own_tgid;
}

/* Nobody knows what of it is not told. Rare, and not worth a place in each program. */
static __noinline int stateless_count(u32 tgid)
{
	if (stateless_in(tgid))
		ring_count_lost(RING_LOST_ANY);
	return 0;
}

/*
 * Set for good when a thread other than its process's first one begins an exec: from then on
 * numbers of threads may be others than their records bear (tid_of()).
 */
u32 numbers_swap __weak = 0;

/*
 * Of a thread of a recorded host that neither ends nor has a number of another, its state says
 * nothing about scope and number that the kernel does not say: it need not be looked up.
 */
static __always_inline bool task_is_plain(const struct task_struct *task)
{
	return scope_host && !spans_only && !(task->flags & PF_EXITING) &&
	       !*(volatile u32 *)&numbers_swap;
}

static __always_inline void state_set(struct thread_state *state, u32 flags)
{
	__sync_fetch_and_or(&state->flags, flags);
}

static __always_inline void state_clear(struct thread_state *state, u32 flags)
{
	__sync_fetch_and_and(&state->flags, ~flags);
}

/*
 * Whose thread pointer one has that was made before recording began, if it is its leader's or its
 * parent's: only that thread publishes there. It may run meanwhile.
 */
static __always_inline void state_find_creator(struct thread_state *state, struct task_struct *task)
{
	struct task_struct *creator = task->group_leader;
	u64 tp = task->thread.fsbase;

	if (task->pid == task->tgid) {
		creator = task->real_parent;
		if (BPF_CORE_READ(creator, mm) != task->mm)
			return;
	}
	if (state->creator_tp || BPF_CORE_READ(creator, thread.fsbase) != tp)
		return;
	state->creator_tp = tp;
	__builtin_memset(&state->ctx, 0, sizeof(state->ctx));
}

/*
 * A call whose entry was not seen is known from the begin of the recording on:
 * it was open then. Of a thread that came into scope later, from then on.
 */
static __always_inline u64 state_known_ns(const struct thread_state *state)
{
	return state->entered_ns ? state->entered_ns : recording_ns;
}

/*
 * Whoever moves a thread and the snapshot may find it outside at once: only one of them lets it in,
 * and says so.
 */
static __always_inline bool state_claim(struct thread_state *state)
{
	u32 before = __sync_fetch_and_or(&state->flags, STATE_ENTERS);

	if (before & STATE_ENTERS)
		return false;
	if (before & STATE_IN) /* just now */
		state_clear(state, STATE_ENTERS);
	return !(before & STATE_IN);
}

/*
 * The thread, which the caller has claimed, comes into scope, in a recording that has begun at
 * `now_ns`; 0: as it begins. What it did so far is not known; no call that it begins from then on
 * goes unseen.
 */
static __always_inline void state_enter(struct thread_state *state, struct task_struct *task,
					u32 flags, u64 now_ns)
{
	state->entered_ns = now_ns;
	state->begin_ns = 0;
	state->fault_begin_ns = 0;
	state->exit_ns = 0;
	state->off_ns = 0;
	state->stack_since_ns = 0;
	state->bytes_sock = 0;
	__builtin_memset(&state->ctx, 0, sizeof(state->ctx));
	state->held_tid = 0;
	state->in_syscall = 0;
	state->newborn = 0;
	state->restarts = 0;
	state->called = 0;
	state_find_creator(state, task);
	state_clear(state, STATE_SEEN | STATE_UNTOLD);
	state_set(state, STATE_DECIDED | flags);
	state_clear(state, STATE_ENTERS);
}

/* NULL if it is of no interest; with scope_host, if there is no memory or not at this moment. */
static __always_inline struct thread_state *state_try(struct task_struct *task)
{
	struct thread_state *state;

	if (!scope_host)
		return state_known(task);
	state = state_make(task);
	if (state && !(state->flags & STATE_DECIDED))
		state_set(state, STATE_DECIDED | ((u32)task->tgid == own_tgid ? 0 : STATE_IN));
	return state;
}

/* State of a thread, NULL if it is of no interest, or could not be made: that is counted. */
static __always_inline struct thread_state *state_of(struct task_struct *task)
{
	struct thread_state *state = state_try(task);

	if (scope_host && !state)
		stateless_count(task->tgid);
	return state;
}

/*
 * The number that a thread's records bear. An exec from a second thread swaps the
 * numbers of that thread and the leader in its middle, before the exec is told,
 * and perhaps before the leader has left its CPU for the last time: until the exec
 * record, and from a thread's exit on, the number from before is held.
 */
static __always_inline u32 tid_of(const struct task_struct *task, const struct thread_state *state)
{
	return state && state->held_tid ? state->held_tid : (u32)task->pid;
}

/* What only the thread itself writes is left to it, as it can run at any time. */
static __always_inline void state_take_found(struct thread_state *state)
{
	state->args[0] = state->found.arg0;
	state->file = state->found.file;
}

/* Its open call, before anybody asks for its file. */
static __always_inline void state_take_call(struct thread_state *state)
{
	if (state->in_syscall != IN_SYSCALL_FOUND)
		return;
	state_take_found(state);
	state->in_syscall = IN_SYSCALL_SOFT;
}

/* When its open call began; 0: that is not known. */
static __always_inline u64 state_call_ns(const struct thread_state *state)
{
	return state->begin_ns == CALL_UNTOLD_NS ? 0 : state->begin_ns;
}

static __always_inline bool state_in(const struct thread_state *state)
{
	return state && (state->flags & STATE_IN) && *(volatile u32 *)&recording;
}

#endif
