// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * System calls. Each is one record, written at its end. Its begin keeps the time, the first
 * argument and the file (bpf/call_begin.h). With spans_only, time and file are only kept for calls
 * in a span: see CALL_UNTOLD_NS.
 */
#include "bpf/syscall.h"
#include "bpf/call.h"
#include "bpf/call_begin.h"
#include "bpf/call_memory.h"
#include "bpf/call_path.h"
#include "bpf/caller.h"
#include "bpf/calls_leave.h"
#include "bpf/context.h"
#include "bpf/fault.h"
#include "bpf/fd.h"
#include "bpf/file.h"
#include "bpf/license.h"
#include "bpf/notice_emit.h"
#include "bpf/peer.h"
#include "bpf/ring.h"
#include "bpf/span_over.h"
#include "bpf/syscall_files.h"
#include "record/syscalls.h"

#define EINTR 4
/* results inside the kernel of a call that a signal interrupted */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTART_RESTARTBLOCK 516
#define SA_RESTART 0x10000000

const u8 syscall_nargs[SYSCALL_TABLE_SIZE] = CALL_MEMORY_NARGS_INIT;

/*
 * Whether the call closes a file. A close is recorded at its begin, before other threads can get
 * the descriptor. If no file is open there, the call will fail.
 */
static __always_inline bool syscall_closes(const struct thread_state *state)
{
	return record_files && state->row == SYSCALL_NR_close && state->file.kind &&
	       state_in(state);
}

/*
 * Notes the begin of a close, and writes the record of the closed file. Its time is 1 ns later, by
 * the same reading of the clock: its slot was reserved before.
 */
static __always_inline void syscall_begin_closing(struct thread_state *state,
						  struct task_struct *task)
{
	struct ring_place place;
	struct record_fd *r;

	if (ring_overwrites || ring_try(&place, 1)) {
		state->begin_ns = bpf_ktime_get_ns();
		fd_closes(state->args[0]);
		return;
	}
	state->begin_ns = bpf_ktime_get_ns();
	r = __builtin_assume_aligned(ring_slot_at(&place, 0), 8);
	if (!r)
		return;
	__builtin_memset((void *)r + 4, 0, RECORD_SLOT_BYTES - 4);
	r->head.kind = RECORD_fd;
	r->head.slots = 1;
	r->head.cpu = place.cpu;
	r->head.time_ns = state->begin_ns + 1;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->fd = state->args[0];
	r->from = -1;
	r->op = FD_close;
	ring_seal(&place, r);
}

#define SOCKET_KINDS (1u << FILE_KIND_tcp | 1u << FILE_KIND_udp | 1u << FILE_KIND_unix)

/* Whether the call names the peer that its socket is to have. */
static __always_inline bool syscall_asks(const struct thread_state *state)
{
	return state->row == SYSCALL_NR_connect && record_files && state->file.kind < 32 &&
	       (1u << state->file.kind & SOCKET_KINDS) && state_in(state);
}

static __always_inline void syscall_begin_asking(struct thread_state *state)
{
	peer_asked();
	state->begin_ns = bpf_ktime_get_ns();
}

/* Whether the call names the peer of one message, as sockets without a connection need it. */
static __always_inline bool syscall_names_peer(const struct thread_state *state, long result)
{
	if (state->file.kind != FILE_KIND_udp && state->file.kind != FILE_KIND_unix)
		return false;
	if (!state->in_syscall || state->begin_ns <= CALL_UNTOLD_NS || !record_files)
		return false;
	switch (state->row) {
	case SYSCALL_NR_sendto:
	case SYSCALL_NR_sendmsg:
	case SYSCALL_NR_sendmmsg:
		return true;
	case SYSCALL_NR_recvfrom:
	case SYSCALL_NR_recvmsg:
	case SYSCALL_NR_recvmmsg:
		return result >= 0;
	default:
		return false;
	}
}

/* Whether the call may change a file in a way that is recorded even if the call is not. */
static __always_inline bool syscall_changes_files(const struct thread_state *state,
						  struct pt_regs *regs)
{
	u32 class = fd_calls[call_row_of(state)];

	if (syscall_sends(class))
		return !syscall_cannot_connect(class, state, regs);
	return class || state->row == SYSCALL_NR_splice;
}

/* Whether neither the call nor a change of a file is recorded: see CALL_UNTOLD_NS. */
static __always_inline bool syscall_is_untold(const struct thread_state *state,
					      struct pt_regs *regs)
{
	return spans_only && !context_is_set(&state->ctx) && !syscall_changes_files(state, regs);
}

/* Whether a thread goes on with the call that a signal interrupted, without having run meanwhile.
 */
static __always_inline bool syscall_goes_on(const struct thread_state *state,
					    struct task_struct *task, long id)
{
	return call_goes_on(state, task, id) ||
	       (call_number(id) == state->nr &&
		state->compat == (task->thread_info.status & TS_COMPAT ? 1 : 0));
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task;
	struct thread_state *state = caller_of(regs, &task);

	if (!state || !(state->flags & (STATE_IN | STATE_PENDING)))
		return 0;
	if (!calls_count(state) && (!*(volatile u32 *)&calls_spans || !*(volatile u32 *)&calls_on ||
				    !calls_look_at_span(state)))
		return 0;
	calls_follow(state);
	if (state->fault_begin_ns)
		fault_soft_end();
	if (state->restarts == RESTARTS_OPEN && state->in_syscall &&
	    syscall_goes_on(state, task, id)) {
		state->restarts = 0;
		return 0;
	}
	if (!state->restarts || !call_goes_on(state, task, id))
		call_begin(state, task, regs, id);
	else if (state->restarts == RESTARTS_FOUND)
		state_take_found(state);
	state->newborn = 0;
	state->called = CALLED_SEEN;
	state->restarts = 0;
	context_read(state, task);
	if (spans_only && span_is_over(state, &state->ctx))
		span_over_tell();
	if (syscall_is_untold(state, regs)) {
		state->begin_ns = CALL_UNTOLD_NS;
	} else {
		if (!state->file.kind)
			call_file_find(state, task, regs);
		if (syscall_closes(state))
			syscall_begin_closing(state, task);
		else if (syscall_asks(state))
			syscall_begin_asking(state);
		else
			state->begin_ns = bpf_ktime_get_ns();
	}
	state->in_syscall = IN_SYSCALL_SEEN;
	state->bytes_sock = 0;
	return 0;
}

/* The second and third slot of the record. The first ends with arg1. */
struct syscall_second {
	u64 args[4]; /* arg2 to arg5 */
	struct file_ref file;
	u64 trace[2];
};

struct syscall_third {
	u64 span;
};

_Static_assert(__builtin_offsetof(struct record_syscall, arg2) == RECORD_SLOT_BYTES, "second");
_Static_assert(__builtin_offsetof(struct record_syscall, file) ==
		       RECORD_SLOT_BYTES + __builtin_offsetof(struct syscall_second, file),
	       "file");
_Static_assert(__builtin_offsetof(struct record_syscall, ctx.span) == 2 * RECORD_SLOT_BYTES,
	       "third");

/* How many slots are published. Slots of zeros at the end are left out. */
static __always_inline u32 syscall_slots(const struct thread_state *state, const u64 args[6])
{
	if (context_is_set(&state->ctx))
		return 3;
	return state->file.kind | args[2] | args[3] | args[4] | args[5] ? 2 : 1;
}

/*
 * Handles the end of a call whose begin was not seen. The first such call of a thread was open when
 * its recording began, unless a seccomp filter or a tracer may have refused it before it was
 * entered. Not static, so that the verifier looks at it once, instead of following each path
 * through it.
 */
__noinline int syscall_begin_late(struct thread_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	u32 fd;

	if (!state)
		return 0;
	state->nr = call_number(regs->orig_ax);
	state->compat = task->thread_info.status & TS_COMPAT ? 1 : 0;
	state->row = call_row(regs->orig_ax, state->compat, regs);
	fd = call_file_find(state, task, regs);
	/* a closed file is gone, and another thread may have opened another one there meanwhile */
	if (state->row == SYSCALL_NR_close || fd_is_new(task, fd))
		__builtin_memset(&state->file, 0, sizeof(state->file));
	context_read(state, task);
	if (!state->called && !calls_raise() && !task->seccomp.mode && call_was_open(state, task))
		call_begin_soft(state);
	return 0;
}

/* Takes the arguments of the call. Those that it does not have become 0, or what memory holds. */
static __always_inline void syscall_take_args(u64 args[6], struct thread_state *state,
					      struct pt_regs *regs, long result)
{
	s64 n = state->compat ? 6 : syscall_nargs[call_row_of(state)];

	if (state->in_syscall && call_keeps_args(state->row)) {
#pragma unroll
		for (int i = 0; i < 6; i++)
			args[i] = state->args[i];
	} else {
		call_registers(args, regs, state->compat);
	}
#pragma unroll
	for (s64 i = 0; i < 6; i++)
		args[i] &= (u64)((i - n) >> 63); /* all bits where i < n: no branch */
	if (__builtin_expect(n & CALL_HAS_MEMORY, 0)) {
		call_memory_read(state, result);
		args[3] = state->args[3];
		args[4] = state->args[4];
		args[5] = state->args[5];
	}
}

static __always_inline bool syscall_is_wanted(const struct thread_state *state)
{
	u64 row = call_row_of(state);

	if (row != CALL_NO_ROW && syscall_unwanted[row])
		return false;
	return !spans_only || context_is_set(&state->ctx);
}

static __always_inline int syscall_put_rest(const struct ring_place *place, u32 n,
					    const struct thread_state *state, const u64 args[6])
{
	const u64 *ctx = (const u64 *)&state->ctx;
	struct syscall_second *second;
	struct syscall_third *third;

	second = (void *)ring_slot_at(place, 1);
	if (!second)
		return -1;
#pragma unroll
	for (int i = 0; i < 4; i++)
		second->args[i] = args[i + 2];
	second->file = state->file;
	second->trace[0] = ctx[0];
	second->trace[1] = ctx[1];
	if (n < 3)
		return 0;
	third = (void *)ring_slot_at(place, 2);
	if (!third)
		return -1;
	third->span = ctx[2];
	return 0;
}

static __always_inline u8 syscall_flags(struct thread_state *state, bool begin_known)
{
	u8 flags = begin_known ? 0 : SYSCALL_BEGIN_UNKNOWN;

	if (state->compat)
		flags |= SYSCALL_COMPAT;
	else if (state->row == CALL_X32_ROW)
		flags |= SYSCALL_X32;
	if (begin_known && state->in_syscall == IN_SYSCALL_SOFT)
		flags |= SYSCALL_BEGIN_SOFT;
	if (calls_tell(state))
		flags |= SYSCALL_BEFORE_UNKNOWN;
	return flags;
}

/*
 * The path and the name of an opened file, which are filled once, in `call_paths` and `fd_paths`.
 * If they are short, they go into slots around the record of the call, all reserved at once.
 */
struct syscall_opened {
	u32 path_bytes, name_bytes; /* of their records; 0: there is none */
	u32 path_slots, name_slots; /* before and behind the record of the call */
};

static __always_inline bool syscall_opens(const struct thread_state *state, long result)
{
	u64 row = call_row_of(state);

	return fd_calls[row] == FD_CALL_RESULT && result >= 0 && call_paths_of[row] &&
	       record_files && !ring_overwrites && state->in_syscall && state->begin_ns;
}

static __always_inline void syscall_open_fill(struct syscall_opened *opened,
					      const struct thread_state *state,
					      struct pt_regs *regs, long result)
{
	u8 place = call_paths_of[call_row_of(state)];
	s32 dirfd = CALL_PATH_AT_CWD;
	u32 path_slots, name_slots;
	u64 args[6];

	call_registers(args, regs, state->compat);
	if (place & CALL_PATH_DIRFD)
		dirfd = call_argument(args, (place & CALL_PATH_MASK) - 1);
	opened->path_bytes = call_path_fill(state->nr, state->begin_ns, dirfd,
					    call_argument(args, place & CALL_PATH_MASK));
	opened->name_bytes = fd_name_fill(result);
	path_slots = ring_slots_of(opened->path_bytes);
	name_slots = ring_slots_of(opened->name_bytes);
	if (path_slots > SHORT_SLOTS || name_slots > SHORT_SLOTS)
		return;
	opened->path_slots = path_slots;
	opened->name_slots = name_slots;
}

/* Publishes both, with times just before and behind that of the record, by one reading of the
 * clock. */
static __always_inline void syscall_put_opened(struct ring_place *place, u32 n,
					       const struct syscall_opened *opened, u64 time_ns)
{
	struct path_scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&fd_paths, &zero);
	place->position += n;
	if (s && opened->name_slots) {
		s->r.head.time_ns = time_ns + 1;
		ring_publish(place, &s->r, opened->name_slots);
	}
	place->position -= n + opened->path_slots;
	s = bpf_map_lookup_elem(&call_paths, &zero);
	if (s && opened->path_slots) {
		s->asked.head.time_ns = time_ns - 1;
		ring_publish(place, &s->asked, opened->path_slots);
	}
}

/* Writes the record. It is filled in the ring, since this runs too often for a copy. False: lost.
 */
static __always_inline bool syscall_put(struct thread_state *state, struct task_struct *task,
					struct pt_regs *regs, long result,
					const struct syscall_opened *opened)
{
	bool begin_known = state->in_syscall && state->begin_ns;
	struct record_syscall *r;
	struct ring_place place;
	u64 args[6], now;
	u32 n;

	syscall_take_args(args, state, regs, result);
	n = FORGET(syscall_slots(state, args), result);
	if (ring_reserve(&place, n + opened->path_slots + opened->name_slots, RECORD_syscall))
		return false;
	place.position += opened->path_slots;
	r = __builtin_assume_aligned(ring_slot_at(&place, 0), 8);
	if (!r || (n > 1 && syscall_put_rest(&place, n, state, args)))
		return false;
	r->head.kind = RECORD_syscall;
	r->head.slots = n;
	r->head.cpu = place.cpu;
	now = bpf_ktime_get_ns();
	if (opened->path_slots)
		now++; /* the path stands before it */
	r->head.time_ns = now;
	r->head.tid = task->pid;
	r->head.pid = task->tgid;
	r->nr = state->nr;
	r->flags = syscall_flags(state, begin_known);
	r->pad = 0;
	r->pad2 = 0;
	r->duration_ns = begin_known ? now - state->begin_ns : 0;
	r->result = result;
	r->arg0 = args[0];
	r->arg1 = args[1];
	ring_seal(&place, r);
	if (opened->path_slots + opened->name_slots)
		syscall_put_opened(&place, n, opened, now);
	return true;
}

/* Whether paths of the call are to be recorded. exec_path() has done so for a successful exec. */
static __always_inline bool syscall_has_paths(const struct thread_state *state, long result)
{
	u64 row = call_row_of(state);

	return call_paths_of[row] && record_files && state->in_syscall && state->begin_ns &&
	       !syscall_unwanted[row] && (!spans_only || context_is_set(&state->ctx)) &&
	       !(result == 0 && call_keeps_args(row));
}

/*
 * Records a call with the path and the name of what it opened. A global function, so that the
 * verifier does not look at it again for each way to it.
 */
__noinline int syscall_record_opened(struct thread_state *state, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct syscall_opened opened = {};
	bool put;

	if (!state)
		return 0;
	syscall_open_fill(&opened, state, regs, result);
	if (!opened.path_slots)
		call_path_emit(opened.path_bytes);
	put = syscall_put(state, task, regs, result, &opened);
	if (!put && opened.path_slots)
		call_path_emit(opened.path_bytes);
	if (!(put && opened.name_slots))
		fd_name_emit(opened.name_bytes);
	return 0;
}

/* Records the call. True: what it opened is recorded, too. */
static __always_inline bool syscall_record(struct thread_state *state, struct task_struct *task,
					   struct pt_regs *regs, long result)
{
	const struct syscall_opened nothing = {};

	if (!state->in_syscall) {
		syscall_begin_late(state);
	} else if (state->in_syscall >= IN_SYSCALL_SOFT) {
		state_take_call(state);
		context_read(state, task); /* it was not read at the begin */
	}
	state->called = CALLED_SEEN; /* all programs are attached: the next begin is seen */
	if (!syscall_is_wanted(state))
		return false;
	if (syscall_opens(state, result)) {
		syscall_record_opened(state, result);
		return true;
	}
	if (syscall_has_paths(state, result))
		call_paths_tell(state, result);
	syscall_put(state, task, regs, result, &nothing);
	return false;
}

/* Counts bytes that splice takes out of a socket as incomplete: no tracepoint tells of them. */
static __always_inline void syscall_count_hole(const struct thread_state *state, long result)
{
	if (state->nr == SYSCALL_NR_splice && result > 0 && state->in_syscall && !state->compat &&
	    (state->file.kind == FILE_KIND_tcp || state->file.kind == FILE_KIND_unix))
		ring_count_incomplete();
}

static __always_inline bool syscall_makes(const struct task_struct *task,
					  const struct pt_regs *regs)
{
	bool compat = task->thread_info.status & TS_COMPAT;

	switch (regs->orig_ax) {
	case SYSCALL_NR_clone3: /* the same number in both tables */
		return true;
	case SYSCALL_NR_clone:
	case SYSCALL_NR_fork:
	case SYSCALL_NR_vfork:
		return !compat;
	case SYSCALL_COMPAT_NR_clone:
	case SYSCALL_COMPAT_NR_fork:
	case SYSCALL_COMPAT_NR_vfork:
		return compat;
	default:
		return false;
	}
}

/*
 * Whether a thread returns from the call that made it, which is not a call of its own. A thread
 * that was made while programs were being attached may have returned before ends of calls were
 * seen. A thread that was made out of scope may have come into scope since.
 */
static __always_inline bool syscall_made_it(const struct thread_state *state,
					    const struct task_struct *task,
					    const struct pt_regs *regs, long result)
{
	if (result || (state->called && !state->newborn))
		return false;
	if (state->newborn && task->start_time > recording_ns)
		return true; /* its fork was seen by all programs: its first end is that, or no call
			      */
	return syscall_makes(task, regs);
}

/*
 * Whether a signal has interrupted the call. A handler, or the lack of one, decides whether it
 * fails or goes on. Calls whose begin was not seen are recorded at once.
 */
static __always_inline bool syscall_is_interrupted(const struct thread_state *state, long result)
{
	return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK &&
	       state->in_syscall == IN_SYSCALL_SEEN;
}

__noinline int call_interrupted(bool handled, u64 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct thread_state *state = state_known(task);
	long result = regs->ax;

	if (!state || !state->in_syscall)
		return 0;
	if (handled && result != -ERESTARTNOINTR && !(result == -ERESTARTSYS && flags & SA_RESTART))
		result = -EINTR;
	syscall_record(state, task, regs, result);
	state->restarts = 0;
	state->in_syscall = 0;
	state->begin_ns = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task;
	struct thread_state *state = caller_of(regs, &task);
	bool told = false;

	if (!state || !(state->flags & (STATE_IN | STATE_PENDING)) || !calls_count(state))
		return 0;
	calls_follow(state);
	if (state->fault_begin_ns)
		fault_soft_end();
	state->held_tid = 0;
	if (syscall_is_interrupted(state, result)) {
		state->restarts = RESTARTS_OPEN;
		return 0;
	}
	if (state_in(state) && syscall_names_peer(state, result) && syscall_is_wanted(state))
		peer_tell(result);
	if (state_in(state) && !syscall_made_it(state, task, regs, result))
		told = syscall_record(state, task, regs, result);
	if (state_in(state) && !told)
		syscall_files(state, regs, result);
	if (state_in(state))
		syscall_count_hole(state, result);
	/* memory gets a name for us even if the kernel cannot show it, so the result is ignored */
	if (state_in(state) && state->in_syscall && !state->compat && notice_may_be(state->nr))
		notice_syscall(state->nr);
	state->newborn = 0;
	if (result == -ERESTART_RESTARTBLOCK && state->in_syscall)
		state->restarts = RESTARTS_AGAIN;
	state->in_syscall = 0;
	state->begin_ns = 0;
	if (!calls_are_wanted(state))
		calls_leave();
	return 0;
}
