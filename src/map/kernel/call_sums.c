/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/call_sums.h"

#include <errno.h>

#include "map/partial.h"
#include "model/syscall_format.h"

bool call_returns(u16 nr, bool compat)
{
	return compat ? nr != 1 && nr != 252 : nr != 60 && nr != 231;
}

bool sums_tell(const struct partial *p, u32 by)
{
	return !p->options.sums.by || p->options.sums.by & by;
}

/* An exec gives any thread of a process the number of its leader. */
bool sums_choose(const struct partial *p, u32 pid, u32 tid)
{
	const struct sum_choice *choice = &p->options.sums;

	return (!choice->pid || pid == choice->pid) &&
	       (!choice->tid || tid == choice->tid || pid == choice->tid);
}

/* The options ask for sums of calls, and of calls of this thread. */
static bool calls_choose(const struct partial *p, u32 pid, u32 tid)
{
	return p->options.sums.by != SUM_BY_NOTHING && sums_choose(p, pid, tid);
}

s32 call_fd(u8 abi_flags, u16 nr, const u64 *args, int known)
{
	int index = syscall_fd_argument(abi_flags, nr);

	return index >= 0 && index < known ? (s32)args[index] : -1;
}

/* Without a kind it is no file: a record may hold something else there. */
static int file_of_sum(struct partial *p, const struct file_use *use, struct sum_of *of)
{
	return use->file.kind && sums_tell(p, SUM_BY_FILE) ? opening_of(p, use, of) : 0;
}

static int sum_of_call(struct partial *p, const struct call_sum *call, struct sum_of *of)
{
	const struct file_use use = {*call->file, call->pid, call->fd, call->begin_ns};
	u32 by = p->options.sums.by ? p->options.sums.by : ~0u;

	*of = (struct sum_of){.key = by & SUM_BY_CALL ? call->key : 0,
			      .pid = by & SUM_BY_PROCESS ? call->pid : 0};

	if (by & SUM_BY_ERROR && syscall_result_is_error(call->error))
		of->key |= (u64)-call->error << SUM_ERROR_SHIFT;
	if (call->detail && by & SUM_BY_FILE)
		return opening_named(p, &use, call->detail, of);
	return file_of_sum(p, &use, of);
}

/* Takes from `split` what the other file is waited for. */
static struct split split_of_other(const struct other_end *end, struct split *split)
{
	static const enum split_part parts[] = {SPLIT_disk, SPLIT_fault};
	struct split own = {0};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && end->waits; i++) {
		own.ns[parts[i]] = split->ns[parts[i]];
		split->ns[parts[i]] = 0;
	}
	return own;
}

/* Counts a call for its other file. `split`: its time, of which its first file keeps the rest. */
static int other_add(struct partial *p, const struct call_sum *call, struct split *split,
		     const struct sum_one *one)
{
	const struct file_use use = {FILE_OF_FD, call->pid, call->other_fd, call->begin_ns};
	struct sum_one other = {.duration_ns = one->duration_ns};
	struct split own = split_of_other(call->other, split);
	struct sum_of of = {.key = SUM_CALL_OTHER};
	int err = file_of_sum(p, &use, &of);

	if (err)
		return err;
	of.key |= sums_tell(p, SUM_BY_CALL) ? call->key : 0;
	of.pid = sums_tell(p, SUM_BY_PROCESS) ? call->pid : 0;
	sum_one_moves(&other, call->other->moves, one->read_bytes + one->written_bytes);
	return sums_add(&p->calls, &of, &own, &other);
}

int call_sums_add(struct partial *p, const struct call_sum *call, const struct split *split,
		  struct sum_one *one)
{
	struct sum_of of;
	int err;

	if (!calls_choose(p, call->pid, call->tid))
		return 0;
	err = sum_of_call(p, call, &of);
	if (err)
		return err;
	one->error = syscall_result_is_error(call->error);
	if (call->other && !one->error && !one->part && sums_tell(p, SUM_BY_FILE)) {
		struct split rest = {0};

		if (split)
			rest = *split;
		else
			rest.ns[SPLIT_kernel] = (s64)one->duration_ns;
		err = other_add(p, call, &rest, one);
		return err ? err : sums_add(&p->calls, &of, &rest, one);
	}
	if (!split)
		return sums_add_part(&p->calls, &of, SPLIT_kernel, one);
	return sums_add(&p->calls, &of, split, one);
}

int fault_sums_add(struct partial *p, const struct life *l, const struct file_use *use,
		   const struct split *split, const struct sum_one *one)
{
	struct sum_of of = {.key = SUM_CALL_NONE};
	int err;

	if (!calls_choose(p, l->pid, l->tid) || !sums_tell(p, SUM_BY_FILE))
		return 0;
	err = opening_of(p, use, &of);
	of.pid = sums_tell(p, SUM_BY_PROCESS) ? use->pid : 0;
	return err ? err : sums_add(&p->calls, &of, split, one);
}

/* ---- waits ---- */

static bool wait_is_in_call(const struct life_wait *w)
{
	return (w->mode & MODE_MASK) == MODE_syscall && w->nr != LIFE_CALL_UNKNOWN;
}

static u64 wake_key(const struct life_wake *wake)
{
	bool thread = wake->context == WAKE_task || wake->context == WAKE_kernel_thread;

	if (!wake->has)
		return 0;
	return ((wake->context + 1ull) & SUM_WAIT_WAKER_MASK) << SUM_WAIT_WAKER_SHIFT |
	       (thread ? (u64)wake->waker_tid << SUM_WAIT_TID_SHIFT : 0);
}

static u64 had_cpu_key(u32 tid)
{
	return SUM_WAIT_HAD_CPU << SUM_WAIT_WAKER_SHIFT | (u64)tid << SUM_WAIT_TID_SHIFT;
}

/*
 * Adds what one thread had of a wait for the CPU, which lasted waited_ns. The wait itself, with all
 * of its time, is counted once: for the thread with `counts`.
 */
static int turn_add(struct partial *p, struct sum_of of, u64 ns, u64 waited_ns, bool counts)
{
	const struct split split = {.ns[SPLIT_runnable] = (s64)ns};
	const struct sum_one one = {.duration_ns = waited_ns, .part = !counts};

	return sums_add(&p->waits, &of, &split, &one);
}

/* The number of the largest share; 0 if there is none. */
static size_t share_largest(const struct turn_share *shares, size_t count)
{
	size_t most = 0;

	for (size_t i = 1; i < count; i++)
		if (shares[i].ns > shares[most].ns)
			most = i;
	return most;
}

/* Shares a wait for a CPU, which lasted so long up to its end, by who had the CPU. */
static int turns_add(struct partial *p, struct sum_of of, const struct life_wait *w, u64 ns)
{
	struct turn_share shares[TURNS_MAX];
	size_t count = turns_share(w->turns, ns, shares), most = share_largest(shares, count);
	const u64 key = of.key;
	u64 rest = ns;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		of.key = key | had_cpu_key(shares[i].tid);
		err = turn_add(p, of, shares[i].ns, ns, i == most);
		rest -= shares[i].ns;
	}
	of.key = key;
	return err || !rest ? err : turn_add(p, of, rest, ns, !count);
}

/*
 * Counts a wait for a CPU. It has no waker: what woke the thread ended the wait before. Where
 * records were lost, the turns may not be those of the wait.
 */
static int runnable_add(struct partial *p, struct sum_of of, const struct life_wait *w, u64 ns)
{
	of.key |= SPLIT_runnable;
	if (!w->had_cpu || !sums_tell(p, SUM_BY_HAD_CPU))
		return turn_add(p, of, ns, ns, true);
	if (w->turns && !w->unsure && ns)
		return turns_add(p, of, w, ns);
	of.key |= had_cpu_key(w->had_cpu - LIFE_HAD_CPU(0));
	return turn_add(p, of, ns, ns, true);
}

u32 wait_had_cpu(const struct life_wait *w)
{
	struct turn_share shares[TURNS_MAX];
	size_t count = 0;

	if (w->turns && !w->unsure)
		count = turns_share(w->turns, (u64)w->split.ns[SPLIT_runnable], shares);
	return count ? LIFE_HAD_CPU(shares[share_largest(shares, count)].tid) : w->had_cpu;
}

bool wait_ended_by(const struct life_wait *w, struct file_ref *file)
{
	const struct life_wake *wake = &w->wake;
	int nr = w->mode & MODE_COMPAT ? syscall_native(w->nr) : w->nr;

	if (!wait_is_in_call(w) || !wake->has || !wake->file.kind)
		return false;
	/* where the epoll does not tell it, it may be the socket of who woke */
	if (wake->file.kind == FILE_KIND_unix && wake->context == WAKE_task && !wake->fd)
		return false;
	switch (nr) {
	case SYSCALL_NR_epoll_wait:
	case SYSCALL_NR_epoll_pwait:
	case SYSCALL_NR_epoll_pwait2:
	case SYSCALL_NR_poll:
	case SYSCALL_NR_ppoll:
	case SYSCALL_NR_select:
	case SYSCALL_NR_pselect6:
	case SYSCALL_NR_io_uring_enter:
		*file = wake->file;
		return true;
	default:
		return false;
	}
}

/* The use of the file of a wait. Of its call only the first argument is known. */
static struct file_use wait_use(const struct life *l, const struct life_wait *w)
{
	u8 abi_flags = w->mode & MODE_COMPAT ? SYSCALL_COMPAT : 0;
	struct file_ref ended;

	if (wait_ended_by(w, &ended))
		return (struct file_use){ended, l->pid, (s32)w->wake.fd - 1, w->wake.time_ns};
	return (struct file_use){w->file, l->pid, call_fd(abi_flags, w->nr, &w->arg0, 1),
				 w->begin_ns};
}

/* Whether it waits in a futex call: its file is none, with the address of the lock as the key. */
static bool wait_is_for_lock(const struct life_wait *w)
{
	int nr = w->mode & MODE_COMPAT ? syscall_native(w->nr) : w->nr;

	return nr == SYSCALL_NR_futex || nr == SYSCALL_NR_futex_wait;
}

/*
 * Whether it is for the other file of its call, which only the end of the call tells: its time is
 * counted with the call.
 */
static bool wait_is_of_other(const struct life_wait *w)
{
	int nr = w->mode & MODE_COMPAT ? syscall_native(w->nr) : w->nr;
	struct other_end end;

	return w->visit_ns && (w->part == SPLIT_disk || w->part == SPLIT_fault) &&
	       syscall_other_end(nr, w->file.kind, &end) && end.waits;
}

static int sum_of_wait(struct partial *p, const struct life *l, const struct life_wait *w,
		       struct sum_of *of)
{
	const struct file_use use = wait_use(l, w);
	bool in_call = wait_is_in_call(w);

	*of = (struct sum_of){.pid = sums_tell(p, SUM_BY_PROCESS) ? l->pid : 0};
	if (sums_tell(p, SUM_BY_CALL))
		of->key = (in_call ? call_key(w->nr, w->mode & MODE_COMPAT) : SUM_CALL_NONE)
			  << SUM_WAIT_CALL_SHIFT;
	if (in_call && wait_is_for_lock(w)) {
		of->file.key = sums_tell(p, SUM_BY_FILE) ? w->arg0 : 0;
		return 0;
	}
	return in_call && !wait_is_of_other(w) ? file_of_sum(p, &use, of) : 0;
}

/*
 * A sleep in a call of which the begin is not known: without calls it stands for its call. Whether
 * it does is known once everything is together (finish.c).
 */
static int call_wait_add(struct partial *p, const struct life *l, const struct life_wait *w)
{
	const struct work_split idle = idle_of_wait(w->part, &w->split);
	const bool idles = work_is_assumed(w->work) && context_is_none(&w->ctx);
	const struct sum_one one = {.duration_ns = w->end_ns - w->begin_ns,
				    .idle = idles ? &idle : NULL};
	const struct file_use use = wait_use(l, w);
	const struct call_sum call = {.key = call_key(w->nr, w->mode & MODE_COMPAT),
				      .pid = l->pid,
				      .file = &use.file,
				      .fd = use.fd,
				      .begin_ns = use.time_ns};
	struct sum_of of;
	int err;

	if (p->options.sums.by == SUM_BY_NOTHING || !wait_is_in_call(w) || w->visit_ns ||
	    !life_leave_sleeps(w->state) || !call_returns(w->nr, w->mode & MODE_COMPAT))
		return 0;
	err = sum_of_call(p, &call, &of);
	return err ? err : sums_add(&p->call_waits, &of, &w->split, &one);
}

int wait_sums_add(struct partial *p, const struct life *l, const struct life_wait *w)
{
	const struct sum_one blocked = {.duration_ns = (u64)w->split.ns[w->part]};
	const u64 runnable_ns = (u64)w->split.ns[SPLIT_runnable];
	bool work = w->work && context_is_none(&w->ctx);
	struct sum_of of;
	int err = w->work > WORK_WAITS ? futex_wait_add(p, l, w) : 0;

	if (err || !sums_choose(p, l->pid, l->tid))
		return err;
	err = sum_of_wait(p, l, w, &of);
	if (!err && (runnable_ns || w->part == SPLIT_runnable))
		err = runnable_add(p, of, w, runnable_ns);
	if (err)
		return err;
	of.key |= w->part;
	if (sums_tell(p, SUM_BY_WAKER))
		of.key |= wake_key(&w->wake);
	if (work)
		of.key |= SUM_WAIT_IDLE;
	if (w->part != SPLIT_runnable && (!work || w->work == WORK_WAITS))
		err = sums_add_part(&p->waits, &of, w->part, &blocked);
	return err ? err : call_wait_add(p, l, w);
}

struct sum_of call_sum_of_futex(const struct partial *p, u64 call, u32 pid)
{
	return (struct sum_of){.key = sums_tell(p, SUM_BY_CALL) ? call : 0,
			       .pid = sums_tell(p, SUM_BY_PROCESS) ? pid : 0};
}

struct sum_of wait_sum_of_futex(const struct partial *p, u64 call, u32 pid,
				const struct life_wake *wake)
{
	struct sum_of of = call_sum_of_futex(p, call, pid);

	of.key <<= SUM_WAIT_CALL_SHIFT;
	if (sums_tell(p, SUM_BY_WAKER))
		of.key |= wake_key(wake);
	return of;
}
