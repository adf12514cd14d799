/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Converts the state of a task to the reason why it left its CPU. The kernel's TASK_* are not in
 * its BTF.
 */
#ifndef BPF_LEAVE_H
#define BPF_LEAVE_H

#include "bpf/kernel_versions.h"

#define JOBCTL_TRAP_FREEZE (1u << 23)

/* The reason of a task that could run on. */
static __always_inline u8 leave_of_runnable(struct task_struct *task)
{
	return task_throttled(task) ? LEAVE_throttled : LEAVE_preempted;
}

/*
 * Whether a task that sleeps interruptibly outside of calls is frozen by its cgroup of version 2.
 * Freezing ends all such sleeps, and holds the task where it handles signals. Version 1 has a task
 * state for this.
 */
static __always_inline bool task_frozen(struct task_struct *task)
{
	return task->jobctl & JOBCTL_TRAP_FREEZE;
}

static __always_inline u8 leave_of_task_state(u32 state)
{
	if (state == 0)
		return LEAVE_preempted;
	if (state & 0x80)
		return LEAVE_dead;
	if (state & 0x8000)
		return LEAVE_frozen;
	if (state & 4)
		return LEAVE_stopped;
	if (state & 8)
		return LEAVE_traced;
	if (state & 0x40)
		return LEAVE_parked;
	if ((state & 2) && (state & 0x400))
		return LEAVE_idle;
	return state & 2 ? LEAVE_disk_sleep : LEAVE_sleep;
}

#endif
