/* SPDX-License-Identifier: Apache-2.0 */
/* What single threads did at a time, by the spans of the kernel of a partial. */
#ifndef REQUEST_THREAD_TIMES_H
#define REQUEST_THREAD_TIMES_H

#include "request/ends.h"

/* The numbers of a thread: [first, end) of thread_times.order. */
struct thread_numbers {
	u32 first, end;
};

/* The kernel spans of one host by thread. Starts with all zero. */
struct thread_times {
	const struct partial *p;
	VEC(u32) order; /* numbers of kspans: by thread, then begin */
	VEC(struct thread_numbers) threads;
	struct map by_tid; /* tid -> its index in `threads`, + 1 */
	size_t faults;	   /* how many page faults there are */
};

/* Borrows the partial, which has its kernel spans. 0 or -ENOMEM; free it in any case. */
int thread_times_make(struct thread_times *t, const struct partial *p);
void thread_times_free(struct thread_times *t);

/* The time split of a thread in [from_ns, to_ns): its parts sum to the length. */
struct split thread_times_split(const struct thread_times *t, u32 tid, u64 from_ns, u64 to_ns);

/*
 * The last time in [from_ns, to_ns) at which the thread slept, as far as it lies there. Both 0: it
 * did not.
 */
struct thread_sleep {
	u64 begin_ns, end_ns;
};
struct thread_sleep thread_times_slept(const struct thread_times *t, u32 tid, u64 from_ns,
				       u64 to_ns);

/*
 * The last time at which a thread left its CPU before to_ns: the wait. False: there is none that
 * lasts beyond from_ns.
 */
bool thread_times_wait(const struct thread_times *t, u32 tid, u64 from_ns, u64 to_ns,
		       struct kspan *wait);

/* Those of the thread's numbers whose spans begin in [from_ns, to_ns). */
struct thread_numbers thread_times_within(const struct thread_times *t, u32 tid, u64 from_ns,
					  u64 to_ns);

/* Whether anything is known of what a thread did. */
bool thread_times_known(const struct thread_times *t, u32 tid);

/* When the thread went to sleep first behind from_ns; UINT64_MAX: never. */
u64 thread_times_sleeps(const struct thread_times *t, u32 tid, u64 from_ns);

/*
 * An instant up to which a call, which moved bytes at time_ns, had not begun: the begin of the call
 * where it is recorded, else what its thread did before it. 0: nothing tells.
 */
u64 thread_times_sending(const struct thread_times *t, u32 tid, u64 time_ns);

#endif
