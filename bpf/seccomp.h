/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Threads that a seccomp filter holds before the call that they ask for, until who supervises them
 * has answered (SECCOMP_RET_USER_NOTIF). Their registers look as if they were in it already.
 */
#ifndef BPF_SECCOMP_H
#define BPF_SECCOMP_H

#include "bpf/ring.h"

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

#define SECCOMP_FILTERS 128
#define SECCOMP_HELD 512 /* of one filter, the first of them */

/*
 * Whether a filter's supervisor was told of the task; -1: of too many others to see that. By their
 * addresses, since the verifier looks at a function of its own once, and not for each filter.
 */
__weak __noinline int seccomp_is_told(u64 notif_at, u64 task)
{
	struct notification *notif = (void *)notif_at;
	struct list_head *first = (void *)notif + bpf_core_field_offset(notif->notifications);
	struct list_head *at = BPF_CORE_READ(first, next);
	struct seccomp_knotif *held;

	for (int i = 0; i < SECCOMP_HELD && at && at != first; i++) {
		held = (void *)at - bpf_core_field_offset(held->list);
		if ((u64)BPF_CORE_READ(held, task) == task)
			return 1;
		at = BPF_CORE_READ(at, next);
	}
	return at && at != first ? -1 : 0;
}

/* Rare, and a function of its own to the verifier; the task by its address. */
__weak __noinline int seccomp_holds(u64 task_at)
{
	struct task_struct *task = (void *)task_at;
	struct seccomp_filter *filter = BPF_CORE_READ(task, seccomp.filter);
	struct notification *notif;
	int told;

	for (int i = 0; i < SECCOMP_FILTERS && filter; i++) {
		notif = BPF_CORE_READ(filter, notif);
		told = notif ? seccomp_is_told((u64)notif, task_at) : 0;
		if (told > 0)
			return true;
		if (told < 0)
			break;
		filter = BPF_CORE_READ(filter, prev);
	}
	if (filter) /* it may be held all the same */
		ring_count_incomplete();
	return false;
}

#endif
