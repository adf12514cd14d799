/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What restart_syscall goes on with, of a thread whose own call was not seen:
 * told by the name of the function that the kernel keeps for it. The arguments are
 * in the registers still.
 */
#ifndef BPF_RESTART_H
#define BPF_RESTART_H

#include "bpf/call.h"

#define RESTART_NAME 16
#define LOWEST_ADDRESS 4096 /* nothing in user memory lies below */

/*
 * The begin of a function's name, and the numbers of its call in both tables; at_address: if the
 * first argument is an address. nanosleep differs from clock_nanosleep in that, which has a clock
 * there. Of two calls of 32 bits that differ only in how they write time it is the older one.
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
	/* a futex alone takes its function away before it sleeps again */
	{"do_no_restart_sy", RESTART_OTHER(futex)},
};
#define RESTART_ROWS (sizeof(restart_rows) / sizeof(restart_rows[0]))

static __always_inline bool restart_is(const struct restart_row *row, const char *name)
{
	const u64 *a = (const u64 *)row->name, *b = (const u64 *)name;

	return a[0] == b[0] && a[1] == b[1];
}

/* Not static: the verifier looks at it once, and not at what follows for each row. */
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
 * The number of the call that a thread goes on with, which is asleep in restart_syscall or on the
 * way to it; `nr` if that cannot be told.
 */
static __always_inline u32 restart_call(struct task_struct *task, u32 nr)
{
	bool compat = task->thread_info.status & TS_COMPAT;
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	bool address = (compat ? (u32)regs->bx : regs->di) >= LOWEST_ADDRESS;
	u64 function = (u64)BPF_CORE_READ(task, restart_block.fn); /* as a mere number */

	return restart_find(function, compat, address, nr);
}

#endif
