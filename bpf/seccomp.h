/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds threads that a seccomp filter holds before a call, until their supervisor has answered
 * (SECCOMP_RET_USER_NOTIF). Their registers look as if they were in the call already.
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
	struct notification *notif; /* NULL: there is no supervisor */
	struct seccomp_filter *prev;
};

#pragma clang attribute pop

#define SECCOMP_FILTERS 128
#define SECCOMP_HELD 512 /* the first entry of a filter's list */

struct seccomp_search {
	u64 task;
	struct list_head *at, *first; /* the entries of a filter */
	struct seccomp_filter *filter;
	int told; /* 1: the thread was found; -1: too many others are held to tell */
};

static long seccomp_next_held(u32 turn, struct seccomp_search *search)
{
	struct list_head *at = search->at;
	struct seccomp_knotif *held;

	if (!at || at == search->first)
		return 1;
	held = (void *)at - bpf_core_field_offset(struct seccomp_knotif, list);
	if ((u64)BPF_CORE_READ(held, task) == search->task) {
		search->told = 1;
		return 1;
	}
	search->at = BPF_CORE_READ(at, next);
	return 0;
}

static long seccomp_next_filter(u32 turn, struct seccomp_search *search)
{
	struct seccomp_filter *filter = search->filter;
	struct notification *notif;
	struct list_head *first;

	if (!filter)
		return 1;
	notif = BPF_CORE_READ(filter, notif);
	if (notif) {
		first = (void *)notif + bpf_core_field_offset(notif->notifications);
		search->first = first;
		search->at = BPF_CORE_READ(first, next);
		bpf_loop(SECCOMP_HELD, seccomp_next_held, search, 0);
		if (!search->told && search->at && search->at != first)
			search->told = -1;
	}
	if (search->told)
		return 1;
	search->filter = BPF_CORE_READ(filter, prev);
	return 0;
}

/* Whether a task, given by its address, is held. A global function for the verifier, since rare. */
__weak __noinline int seccomp_holds(u64 task_at)
{
	struct task_struct *task = (void *)task_at;
	struct seccomp_search search = {.task = task_at,
					.filter = BPF_CORE_READ(task, seccomp.filter)};

	bpf_loop(SECCOMP_FILTERS, seccomp_next_filter, &search, 0);
	if (search.told <= 0 && search.filter) /* the task may be held nevertheless */
		ring_count_incomplete();
	return search.told > 0;
}

#endif
