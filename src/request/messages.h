/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between hosts: what one end sent and the other one received, with the time of both. */
#ifndef REQUEST_MESSAGES_H
#define REQUEST_MESSAGES_H

#include "request/connections.h"
#include "request/thread_times.h"

/* A send and the receive that has its last byte. */
struct message {
	u32 from, to;	 /* hosts */
	u64 sent_ns;	 /* not later than the begin of the call that sent it */
	u64 received_ns; /* the end of the call that received it, by the other clock */
};

struct message_list {
	struct message *data; /* a VEC */
	size_t count, capacity;
};

/*
 * Adds the messages between different hosts. When a call that sends began is told by its span in
 * `times` (of each host; NULL: not known), else by what its thread did before it. 0 or -ENOMEM.
 */
int messages_find(struct message_list *out, const struct connections *connections,
		  const struct thread_times *times);

#endif
