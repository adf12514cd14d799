/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-offs: who ended the sleep of a thread of the same process, and on what it slept. They are
 * taken from the waits of a partial, each of which has the waking that ended it. So there is at
 * most one for a sleep, and merging is as exact as that of waits.
 */
#ifndef REQUEST_HAND_OFFS_H
#define REQUEST_HAND_OFFS_H

#include "request/exchange.h"
#include "request/processes.h"

/* Starts with all zero. */
struct hand_off_list {
	struct hand_off *data; /* a VEC */
	size_t count, capacity;
};

/*
 * Adds those of one host in the processes that are in the list. The partial has its kernel spans. 0
 * or -ENOMEM.
 */
int hand_offs_find(struct hand_off_list *out, struct processes *processes, u32 host);

/*
 * Adds those of one host that bytes tell: of a pair of Unix sockets within a process by which
 * threads of a pool tell an event loop that they are done. They also tell of a loop that did not
 * sleep. Only one thread receives there, and it sends nothing back. 0 or -ENOMEM.
 */
int hand_offs_sent(struct hand_off_list *out, struct processes *processes, u32 host);

#endif
