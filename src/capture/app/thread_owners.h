/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose thread a number was at a time, from the records of threads that begin and end: the number
 * of one that ended is given to another, of any process.
 */
#ifndef CAPTURE_APP_THREAD_OWNERS_H
#define CAPTURE_APP_THREAD_OWNERS_H

#include <stdbool.h>

#include "record/record.h"

#define THREAD_OWNERS_BITS 16 /* of more numbers than that (2.5 MiB), some are forgotten */

struct thread_owner {
	u32 tid; /* 0: none */
	u32 pid; /* who has it, or had it last */
	u64 begin_ns;
	u32 ended_pid; /* who had it before, or until now */
	u64 ended_ns;  /* 0: no end was seen */
	u64 forgot_ns; /* until then another number stood here */
};

/* Starts with all zero. Not thread-safe. */
struct thread_owners {
	struct thread_owner at[1 << THREAD_OWNERS_BITS];
};

/* Takes note of a record: forks, execs and ends say something, others do not. */
void thread_owners_note(struct thread_owners *owners, const struct record_head *r);

enum thread_owned {
	THREAD_OWNED,	      /* by this process */
	THREAD_OWNED_BY_NONE, /* of this process */
	THREAD_OWNER_UNKNOWN,
};

/* Whether thread `tid` was one of process `pid` at a time. */
enum thread_owned thread_owners_judge(const struct thread_owners *owners, u32 tid, u32 pid,
				      u64 time_ns);

/* True if what was known of the thread at a time is known to hold still: it did not end since. */
bool thread_owners_holds(const struct thread_owners *owners, u32 tid, u64 known_ns);

#endif
