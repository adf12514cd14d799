/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process owned a thread id, and when, from the records of threads that begin and end. The
 * kernel gives the id of a thread that ended to another thread, of any process.
 */
#ifndef CAPTURE_APP_THREAD_OWNERS_H
#define CAPTURE_APP_THREAD_OWNERS_H

#include <stdbool.h>

#include "record/record.h"

#define THREAD_OWNERS_BITS 16 /* so many places, 2.5 MiB; with more ids some are forgotten */

/* The last two owners of a thread id. */
struct thread_owner {
	u32 tid; /* 0: the place is empty */
	u32 pid; /* the owner since begin_ns */
	u64 begin_ns;
	u32 ended_pid; /* the owner until ended_ns */
	u64 ended_ns;  /* 0: no end was seen */
	u64 forgot_ns; /* nothing is known of times before, when the place had another id */
};

/* Starts with all zero. Not thread-safe. */
struct thread_owners {
	struct thread_owner at[1 << THREAD_OWNERS_BITS];
};

/* Takes note of a record: forks, execs, ends and threads found matter, others are ignored. */
void thread_owners_note(struct thread_owners *owners, const struct record_head *r);

enum thread_owned {
	THREAD_OWNED,	      /* by that process */
	THREAD_OWNED_BY_NONE, /* it was no thread of that process */
	THREAD_OWNER_UNKNOWN,
};

/* Whether thread `tid` belonged to process `pid` at a time. */
enum thread_owned thread_owners_judge(const struct thread_owners *owners, u32 tid, u32 pid,
				      u64 time_ns);

/* Whether the thread surely did not end since known_ns, so that what was known then still holds. */
bool thread_owners_holds(const struct thread_owners *owners, u32 tid, u64 known_ns);

#endif
