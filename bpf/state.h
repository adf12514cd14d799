/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The state that the programs keep for each thread. It is made and dropped with the thread, so a
 * tid that is used again inherits nothing.
 *
 * Each thread has a place in an array, by the address of its task, so a lookup needs no call of the
 * kernel. task_newtask makes the state and sched_process_free drops it. If another thread has the
 * place already, the state is kept apart (bpf/kernel_versions.h).
 *
 * Scope: with scope_host every thread but those of capture itself is in scope; else those whose
 * state says so. State is made by the program for forks (children inherit), by the snapshot
 * (scope_pids, to which the iterator scope_children adds), by a move into a cgroup and, for the
 * command that capture starts, by the iterator scope_seeds. That a thread has no state is
 * remembered until some state is made (bpf/caller.h).
 */
#ifndef BPF_STATE_H
#define BPF_STATE_H

#include "bpf/detail_scope.h"
#include "bpf/kernel_versions.h"
#include "bpf/recording.h"
#include "bpf/ring.h"
#include "bpf/thread_state.h"

/* Set by capture before the programs are loaded. */
const volatile bool scope_host __weak = false;
const volatile bool spans_only __weak = false;

/*
 * Whether calls and faults are recorded. Capture changes it while the programs run: it attaches the
 * programs of calls before it sets this, and detaches them behind. calls_raised grows by 2 before
 * each time that it is set again. The calls of a thread are followed since its first begin or end
 * of a call from then on.
 */
u32 calls_on __weak = 0;
u32 calls_raised __weak = 0;

/*
 * Not 0: calls are recorded of threads in some scopes of detail only (bpf/detail.h), by a bit for
 * each scope; bit 0 stands for threads in none. Calls of a thread that its scope does not want are
 * followed up to the end of the next one (calls_leave()). calls_raised is not 0 then.
 */
u32 calls_scoped __weak = 0;

/*
 * With it: a scope was asked for, which goes before the others. Its number in the lower byte, from
 * 1 to 255 in turn (detail_take()), and whether its calls are recorded; 0: none was.
 */
u32 calls_asked __weak = 0;

/*
 * Not 0: a scope is that of threads under a span, which counts as the scopes of state->scope do.
 * Its number, or CALLS_SPANS_ASKED if it was asked for.
 */
u32 calls_spans __weak = 0;

/*
 * The process of capture, by the kernel's number, and its pid namespace with the depth of that (0:
 * the initial one). own_find() sets them before the programs are attached.
 */
u32 own_tgid __weak = 0;
u32 own_level __weak = 0;
u64 own_namespace __weak = 0;

/*
 * RECORDING_*. Set when all programs are attached. Until then they keep state and write no record,
 * so that no thread is recorded by some programs only.
 */
u32 recording __weak = 0;
u64 recording_ns __weak = 0; /* since when; set before `recording` */

/* Grows with each change of `locations`, while the programs run. */
u32 context_generation __weak = 0;

#define STATE_PLACES_BITS 13

/* Mappable, though nobody maps it: so the values begin on a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << STATE_PLACES_BITS);
	__type(key, u32);
	__type(value, struct thread_state);
} state_places SEC(".maps") __weak;

u64 states_made __weak = 0; /* grows behind each */

/* Set, and never reset, when the state of a thread is kept apart from its place. */
u32 states_apart __weak = 0;

/* The location of contexts of each process, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct context_location);
} locations SEC(".maps") __weak;

/* The last exec of each process in scope, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct context_executed);
} executed SEC(".maps") __weak;

#define PROGRAMS_MAX 4096 /* the entry of the oldest exec is dropped first */

/*
 * The location of contexts by program, for processes that execute it later; known = 0: processes
 * had different ones. Capture writes it, the program for execs reads it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROGRAMS_MAX);
	__type(key, struct context_program);
	__type(value, struct context_location);
} program_locations SEC(".maps") __weak;

/* The number of a thread in capture's own pid namespace; 0: the thread is not visible there. */
static __always_inline u32 own_number(struct task_struct *task)
{
	struct pid *numbers = KERNEL_READ(task, thread_pid);
	struct upid seen = {};
	u32 pid = task->pid;

	barrier_var(pid); /* else clang makes one load for both results, which are in two kinds of
			     memory */
	if (own_level == 0)
		return pid;
	if (own_level > 32 || KERNEL_READ(numbers, level) < own_level ||
	    bpf_probe_read_kernel(&seen, sizeof(seen), &numbers->numbers[own_level]) ||
	    (u64)seen.ns != own_namespace)
		return 0;
	return seen.nr;
}

/* The same of a task that is not known to be one: whether it has that number. */
static __always_inline bool task_is_numbered(struct task_struct *task, u32 number)
{
	struct pid *pid;
	struct upid seen = {};

	if (own_level == 0)
		return (u32)BPF_CORE_READ(task, pid) == number;
	pid = BPF_CORE_READ(task, thread_pid);
	return own_level <= 32 && BPF_CORE_READ(pid, level) >= own_level &&
	       !bpf_probe_read_kernel(&seen, sizeof(seen), &pid->numbers[own_level]) &&
	       (u64)seen.ns == own_namespace && (u32)seen.nr == number;
}

/* The lower half of an address, as a plain number for the verifier. */
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

/* The state of a thread; NULL if it has none. */
static __always_inline struct thread_state *state_known(struct task_struct *task)
{
	struct thread_state *place = state_place(task);

	if (state_is_placed(place, task))
		return place;
	return *(volatile u32 *)&states_apart ? state_apart(task) : NULL;
}

/* Makes the state of a thread without one, in its place or apart. `flags`: of state_apart_begin().
 */
static __noinline struct thread_state *state_begin(struct task_struct *task, u64 flags)
{
	struct thread_state *place = state_place(task);
	u64 owner = place ? __sync_val_compare_and_swap(&place->task, 0, (u64)task) : 1;

	if (owner != 0 && owner != (u64)task) {
		states_apart = 1;
		place = state_apart_begin(task, flags);
	}
	if (place)
		place->tid = task->pid;
	__sync_fetch_and_add(&states_made, 1);
	return place;
}

/* The state of a thread, made as zeros if it had none. NULL: there is no memory now. */
static __always_inline struct thread_state *state_make(struct task_struct *task)
{
	struct thread_state *state = state_known(task);

	return state ? state : state_begin(task, BPF_NOEXIST);
}

/* Clears the place and frees it for another thread. */
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

/* Makes the state of a new thread. Its address may have state of a thread that was not dropped. */
static __always_inline struct thread_state *state_make_new(struct task_struct *task)
{
	state_leave_place(task);
	return state_begin(task, BPF_ANY);
}

/* Whether a thread without state is recorded, in a recording of the host. */
static __always_inline bool stateless_in(u32 tgid)
{
	return *(volatile u32 *)&recording & RECORDING_ALL && tgid != own_tgid;
}

/*
 * Counts a loss of unknown kind for a thread whose state could not be made. Not inlined, since it
 * is rare.
 */
static __noinline int stateless_count(u32 tgid)
{
	if (stateless_in(tgid))
		ring_count_lost(RING_LOST_ANY);
	return 0;
}

/*
 * Set, and never reset, when a thread that is not the leader of its process begins an exec. From
 * then on numbers of threads may differ from those in records (tid_of()).
 */
u32 numbers_swap __weak = 0;

/*
 * Whether scope and number of a thread are known without its state. True in a recording of the
 * host, if the thread does not end and its number cannot be that of another.
 */
static __always_inline bool task_is_plain(const struct task_struct *task)
{
	return scope_host && !spans_only && !(task->flags & PF_EXITING) &&
	       !*(volatile u32 *)&numbers_swap;
}

static __always_inline u16 calls_raise(void)
{
	return *(volatile u32 *)&calls_raised;
}

static __always_inline bool context_is_set(const struct context *ctx)
{
	/* its type has no alignment, so the compiler would load it byte by byte */
	return *(const u64 *)__builtin_assume_aligned(ctx->span, 8) != 0;
}

/* Whether the scope of a thread is at `calls`, by the span that was last read. */
static __always_inline bool calls_are_wanted(const struct thread_state *state)
{
	u32 scopes = *(volatile u32 *)&calls_scoped, spans, asked, scope;

	if (!scopes)
		return true;
	spans = *(volatile u32 *)&calls_spans;
	if (spans && !context_is_set(&state->ctx))
		spans = 0;
	asked = *(volatile u32 *)&calls_asked;
	if (asked && (asked & CALLS_ASKED_SPANS ? spans != 0 : state->asked == (u8)asked))
		return asked & CALLS_ASKED_CALLS;
	scope = state->scope & 15;
	spans &= 15;
	return scopes >> (spans > scope ? spans : scope) & 1;
}

/* Whether the calls of a thread are followed; what its state says of its call is true then. */
static __always_inline bool calls_are_followed(const struct thread_state *state)
{
	return *(volatile u32 *)&calls_on &&
	       (state->calls_since & (u16)~CALLS_UNTOLD) == calls_raise();
}

/*
 * Follows the calls of a thread from now on, if they are not. What its state says of earlier ones
 * is of no account then.
 */
static __always_inline void calls_follow(struct thread_state *state)
{
	if ((state->calls_since & (u16)~CALLS_UNTOLD) == calls_raise())
		return;
	state->calls_since = calls_raise() | CALLS_UNTOLD;
	state->fault_begin_ns = 0;
	state->begin_ns = 0;
	state->in_syscall = 0;
	state->newborn = 0;
	state->restarts = state->called ? RESTARTS_AGAIN : 0;
	state->called = 0;
}

/* Whether a begin or an end of a call of the thread counts: it is followed, or is to be. */
static __always_inline bool calls_count(const struct thread_state *state)
{
	return *(volatile u32 *)&calls_on && (calls_are_wanted(state) || calls_are_followed(state));
}

/* Whether this is the first record of the thread since its calls are followed. */
static __always_inline bool calls_tell(struct thread_state *state)
{
	bool first = state->calls_since & CALLS_UNTOLD;

	if (first)
		state->calls_since &= (u16)~CALLS_UNTOLD;
	return first;
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
 * Finds out whether a thread that was made before recording began has the thread pointer of its
 * leader or parent. Then only that other thread publishes its context there. The thread may run
 * meanwhile.
 */
static __always_inline void state_find_creator(struct thread_state *state, struct task_struct *task)
{
	struct task_struct *creator = KERNEL_READ(task, group_leader);
	u64 tp = task->thread.fsbase;

	if (task->pid == task->tgid) {
		creator = KERNEL_READ(task, real_parent);
		if (KERNEL_READ(creator, mm) != KERNEL_READ(task, mm))
			return;
	}
	if (state->creator_tp || BPF_CORE_READ(creator, thread.fsbase) != tp)
		return;
	state->creator_tp = tp;
	__builtin_memset(&state->ctx, 0, sizeof(state->ctx));
}

/*
 * The time since when an open call whose begin was not seen is known: the begin of the recording,
 * or when the thread came into scope.
 */
static __always_inline u64 state_known_ns(const struct thread_state *state)
{
	return state->entered_ns ? state->entered_ns : recording_ns;
}

/*
 * Claims a thread that is out of scope. The snapshot and a move into a cgroup may find it at the
 * same time; the one that claims it puts it in scope and records that.
 */
static __always_inline bool state_claim(struct thread_state *state)
{
	u32 before = __sync_fetch_and_or(&state->flags, STATE_ENTERS);

	if (before & STATE_ENTERS)
		return false;
	if (before & STATE_IN) /* another one has just put it in scope */
		state_clear(state, STATE_ENTERS);
	return !(before & STATE_IN);
}

/*
 * Puts a thread that the caller has claimed in scope, at `now_ns`; 0: at the begin of the
 * recording. What it did before is not known. All calls that it begins from now on are seen.
 */
static __always_inline void state_enter(struct thread_state *state, struct task_struct *task,
					u32 flags, u64 now_ns)
{
	state->entered_ns = now_ns;
	state->tid = task->pid;
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

/*
 * The state of a thread. NULL if it is out of scope; with scope_host, if there is no memory for its
 * state now.
 */
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

/* The state of a thread. NULL if it is out of scope, or could not be made, which is counted. */
static __always_inline struct thread_state *state_of(struct task_struct *task)
{
	struct thread_state *state = state_try(task);

	if (scope_host && !state)
		stateless_count(task->tgid);
	return state;
}

/*
 * The number of a thread in records. An exec by a thread that is not the leader swaps the numbers
 * of both in its middle. That is before the exec is recorded, and perhaps before the leader has
 * left its CPU for the last time. So the old number is kept until the record of the exec, and from
 * the exit of a thread on.
 */
static __always_inline u32 tid_of(const struct task_struct *task, const struct thread_state *state)
{
	return state && state->held_tid ? state->held_tid : (u32)task->pid;
}

/*
 * Takes over what the snapshot has found of the thread's call. The thread does this itself, since
 * it may run at any time and only it may write these fields.
 */
static __always_inline void state_take_found(struct thread_state *state)
{
	state->args[0] = state->found.arg0;
	state->file = state->found.file;
}

/* Takes over an open call that the snapshot found, before its file is used. */
static __always_inline void state_take_call(struct thread_state *state)
{
	if (state->in_syscall != IN_SYSCALL_FOUND)
		return;
	state_take_found(state);
	state->in_syscall = IN_SYSCALL_SOFT;
}

/* The begin of the open call; 0: not known. */
static __always_inline u64 state_call_ns(const struct thread_state *state)
{
	return state->begin_ns == CALL_UNTOLD_NS ? 0 : state->begin_ns;
}

static __always_inline bool state_in(const struct thread_state *state)
{
	return state && (state->flags & STATE_IN) && *(volatile u32 *)&recording & RECORDING_ALL;
}

/* The same for the life of a thread, which is told in a pause, too. */
static __always_inline bool state_lives(const struct thread_state *state)
{
	return state && (state->flags & STATE_IN) && *(volatile u32 *)&recording;
}

#endif
