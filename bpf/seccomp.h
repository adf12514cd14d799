/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Threads that a seccomp filter holds before the call that they ask for, until who supervises them
 * has answered (SECCOMP_RET_USER_NOTIF). Their registers look as if they were in it already.
 */
#ifndef BPF_SECCOMP_H
#define BPF_SECCOMP_H

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seccomp_knotif {
	struct task_struct *task;
	struct list_head list;
};

struct notification {
	struct list_head notifications; /* of struct seccomp_knotif */
};

struct seccomp_filter {
	struct notification *notif; /* NULL: nobody supervises it */
	struct seccomp_filter *prev;
};

#pragma clang attribute pop

#define SECCOMP_FILTERS 16
#define SECCOMP_HELD 64 /* of one filter, the first of them */

static __always_inline bool seccomp_is_told(struct notification *notif, u64 task)
{
	struct list_head *first = (void *)notif + bpf_core_field_offset(notif->notifications);
	struct list_head *at = BPF_CORE_READ(first, next);
	struct seccomp_knotif *held;

	for (int i = 0; i < SECCOMP_HELD && at && at != first; i++) {
		held = (void *)at - bpf_core_field_offset(held->list);
		if ((u64)BPF_CORE_READ(held, task) == task)
			return true;
		at = BPF_CORE_READ(at, next);
	}
	return false;
}

/* Rare, and a function of its own to the verifier; the task by its address. */
__weak __noinline int seccomp_holds(u64 task_at)
{
	struct task_struct *task = (void *)task_at;
	struct seccomp_filter *filter = BPF_CORE_READ(task, seccomp.filter);
	struct notification *notif;

	for (int i = 0; i < SECCOMP_FILTERS && filter; i++) {
		notif = BPF_CORE_READ(filter, notif);
		if (notif && seccomp_is_told(notif, task_at))
			return true;
		filter = BPF_CORE_READ(filter, prev);
	}
	return false;
}

#endif
