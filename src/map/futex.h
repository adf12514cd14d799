/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for which futex and who wakes it, and what that says of the futex. */
#ifndef MAP_FUTEX_H
#define MAP_FUTEX_H

#include "map/kernel/sums.h"
#include "model/life.h"

struct partial;

/*
 * A condition variable of glibc has two futexes side by side, of which waiters use the one, then
 * the other: so many lowest bits of the address do not count.
 */
#define FUTEX_ADDRESS(address) ((address) & ~7ull)

/* What kind of wait a sum of partial.futexes counts. Its key is FUTEX_ADDRESS(). */
struct futex_wait_kind {
	u32 call;     /* SUM_CALL_* */
	u8 part;      /* enum split_part */
	u8 work;      /* enum work */
	bool under;   /* under a context: only its waking counts */
	bool several; /* a thread may wait so on a futex of its own for several things */
	bool woken;
	u8 context; /* with woken: enum record_wake_context */
};

/* What the waits and wake-ups of a futex tell. */
struct futex_use {
	u64 address; /* FUTEX_ADDRESS() */
	u32 pid;
	bool lock;  /* those who wake on it also sleep on it */
	bool pool;  /* they are others */
	bool woken; /* a thread woke one of its sleepers */
	/* waits for it in the middle of a request are for the request (WORK_IN_REQUEST) */
	bool of_requests;
};

/* Adds a wait for a futex to partial.futexes. 0 or -ENOMEM. */
int futex_wait_add(struct partial *p, const struct life *l, const struct life_wait *w);

struct futex_wait_kind futex_sum_kind(const struct sum *sum);
u32 futex_sum_sleeper(const struct sum *sum); /* the tid of who waited */
u32 futex_sum_waker(const struct sum *sum);   /* of the thread that woke it; 0: none did */

/* Once all waits are there: sorts them, and makes partial.futex_uses of them. 0 or -ENOMEM. */
int futexes_judge(struct partial *p);

/* What is known of a futex, by any address of it; all false: nothing. Of a judged partial. */
struct futex_use futex_use_of(const struct partial *p, u32 pid, u64 address);

/* Whether a wait for a futex is one for work; `work`: one of those behind WORK_WAITS. */
bool futex_is_idle(enum work work, const struct futex_use *use);

/*
 * Whether it is one for a lock, so that its time-outs are, too: programs look after a while whether
 * the lock is free. A word on which nobody wakes is a sleep.
 */
bool futex_is_lock(enum work work, const struct futex_use *use);

#endif
