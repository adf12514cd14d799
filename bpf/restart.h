/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds the call with which restart_syscall goes on, for a thread whose original call was not seen.
 * The kernel keeps a function for it, whose name tells the call. The arguments are still in the
 * registers.
 */
#ifndef BPF_RESTART_H
#define BPF_RESTART_H

#include "bpf/call.h"

#define RESTART_NAME 16
#define LOWEST_ADDRESS 4096 /* no user memory is below this address */

/*
 * The begin of a function's name, and the numbers of its call in both tables; at_address: the call
 * if the first argument is an address. That is how nanosleep differs from clock_nanosleep, which
 * has a clock there. If two 32-bit calls differ only in their format of time, this is the older
 * one.
 */
struct restart_row {
	char name[RESTART_NAME] __attribute__((aligned(8)));
	u16 nr, compat_nr;
	u16 at_address, compat_at_address;
};

#define RESTART_SLEEP(call)                                                                        \
	SYSCALL_NR_clock_nanosleep, SYSCALL_COMPAT_NR_clock_nanosleep, SYSCALL_NR_##call,          \
		SYSCALL_COMPAT_NR_##call
#define RESTART_OTHER(call)                                                                        \
	SYSCALL_NR_##call, SYSCALL_COMPAT_NR_##call, SYSCALL_NR_##call, SYSCALL_COMPAT_NR_##call

static const struct restart_row restart_rows[] = {
	{"hrtimer_nanoslee", RESTART_SLEEP(nanosleep)},
	{"posix_cpu_nsleep", RESTART_SLEEP(clock_nanosleep)},
	{"alarm_timer_nsle", RESTART_SLEEP(clock_nanosleep)},
	{"do_restart_poll", RESTART_OTHER(poll)},
	{"futex_wait_resta", RESTART_OTHER(futex)},
	/* only a futex resets its function before it sleeps again */
	{"do_no_restart_sy", RESTART_OTHER(futex)},
};
#define RESTART_ROWS (sizeof(restart_rows) / sizeof(restart_rows[0]))

static __always_inline bool restart_is(const struct restart_row *row, const char *name)
{
	const u64 *a = (const u64 *)row->name, *b = (const u64 *)name;

	return a[0] == b[0] && a[1] == b[1];
}

/* Not static, so that the verifier checks it once, and not the code behind it for each row. */
__weak __noinline int restart_find(u64 function, bool compat, bool address, u32 nr)
{
	char name[RESTART_NAME + 8] __attribute__((aligned(8))) = {};

	BPF_SNPRINTF(name, sizeof(name), "%ps", function);
	for (u32 i = 0; i < RESTART_ROWS; i++) {
		const struct restart_row *row = &restart_rows[i];

		if (!restart_is(row, name))
			continue;
		if (compat)
			return address ? row->compat_at_address : row->compat_nr;
		return address ? row->at_address : row->nr;
	}
	return nr;
}

/*
 * The number of the call with which a thread goes on that sleeps in restart_syscall, or is about
 * to; `nr` if it cannot be told.
 */
static __always_inline u32 restart_call(struct task_struct *task, u32 nr)
{
	bool compat = task->thread_info.status & TS_COMPAT;
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	bool address = (compat ? (u32)regs->bx : regs->di) >= LOWEST_ADDRESS;
	u64 function = (u64)BPF_CORE_READ(task, restart_block.fn); /* as a plain number */

	return restart_find(function, compat, address, nr);
}

#endif
