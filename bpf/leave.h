/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * From the state of a task (TASK_* of the kernel, which are no types of its
 * BTF) to why it is off its CPU.
 */
#ifndef BPF_LEAVE_H
#define BPF_LEAVE_H

#include "bpf/kernel_versions.h"

#define JOBCTL_TRAP_FREEZE (1u << 23)

/* Of a task that could run. */
static __always_inline u8 leave_of_runnable(struct task_struct *task)
{
	return task_throttled(task) ? LEAVE_throttled : LEAVE_preempted;
}

/*
 * Whether one that sleeps interruptibly, in no call, is frozen by its cgroup of version 2: that
 * ends all such sleeps, and holds the task where signals are looked for. Version 1 has a state of
 * its own.
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
