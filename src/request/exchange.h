/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange is a request and its answer on a connection. These are plain values in arrays: what
 * joins byte ranges makes them, and request/link.h finds the request to which each call belongs.
 *
 * The exchange is a call for the process that sent it, and a request for the process that received
 * it. All instants of one end are of that end's host, and of its monotonic clock.
 */
#ifndef REQUEST_EXCHANGE_H
#define REQUEST_EXCHANGE_H

#include "record/record.h"

/* One end of an exchange; all zero if it was not recorded. */
struct exchange_end {
	/* Caller: sent the first byte of the request. Server: received its last byte. */
	u64 first_ns;
	/*
	 * Caller: received the last byte of the answer; 0: did not. Server: sent the last byte of
	 * the answer; of a request without an answer, when its connection ended; 0: neither was
	 * seen.
	 */
	u64 last_ns;
	u32 process;   /* number in link_input.processes; 0: not recorded */
	u32 first_tid; /* the thread at first_ns */
	u32 last_tid;  /* the thread at last_ns; 0: none */
	u32 detail;    /* number in link_input.details; 0: none */
};

/* How the boundary between two requests on a connection is known. */
enum exchange_boundary {
	EXCHANGE_BY_TURN = 0,  /* the other end had its turn */
	EXCHANGE_BY_SENDS = 1, /* read together, answered by as many sends as there were requests */
	EXCHANGE_BY_CONTENT = 2, /* the first bytes of the message say so */
};

enum exchange_flag {
	EXCHANGE_ONE_WAY = 1,	 /* nothing can answer: a pipe, a datagram */
	EXCHANGE_STREAM = 2,	 /* a burst of a stream, which is no request */
	EXCHANGE_SOFT_BEGIN = 4, /* it began before the data, or in a loss */
	EXCHANGE_SOFT_END = 8,	 /* it ends after the data, or in a loss */
	EXCHANGE_CUT = 16,	 /* a loss lies within it */
	/* It begins or ends outside of its call by more than the clocks of the hosts can differ. */
	EXCHANGE_IMPOSSIBLE = 32,
};

struct exchange {
	u64 from, to;		    /* bytes of the request in their direction */
	u64 answer_from, answer_to; /* the same of the answer; equal: there is none */
	struct exchange_end caller, server;
	u32 connection; /* number in link_input.connections */
	u32 name;	/* of the operation, in a list of the caller of link; 0: not known */
	u16 flags;	/* enum exchange_flag */
	u8 boundary;	/* enum exchange_boundary */
	u8 spare;
};

/* What linking needs to know of a connection. */
struct exchange_connection {
	/*
	 * What serves: a service and its port, as a number that is the same in each recording, so
	 * that what was learned of it can be added up. The name of a service hashed, for example.
	 */
	u64 peer;
	u64 connected_ns;  /* when the caller connected it; 0: not seen */
	u32 connected_tid; /* the thread that did */
	u32 spare;
};

/* What few ends have: see exchange_end.detail. All zero where it does not have it. */
struct exchange_detail {
	u64 light;	 /* the light thread (goroutine) at first_ns */
	u64 light_maker; /* the light thread that made it */
	/*
	 * The context that the application published, of the caller at first_ns and of the server
	 * at last_ns. `root` is the topmost span of this process above the published one, if it is
	 * known, else the published span.
	 */
	u8 trace[16], root[8];
};

enum hand_off_kind {
	HAND_OFF_OTHER = 0,
	HAND_OFF_FUTEX = 1,
	HAND_OFF_EVENTFD = 2,
	HAND_OFF_PIPE = 3,
	HAND_OFF_UNIX = 4,
	HAND_OFF_SENT = 5, /* bytes over a socket of the process: it may not have slept */
};

/*
 * A thread ended the sleep of another one of its process, or sent it bytes, and may have handed
 * work to it.
 */
struct hand_off {
	u64 time_ns;
	u32 waker, woken; /* their tids */
	/*
	 * On what it slept, told apart within the process: the low half of the address of a futex;
	 * of the others the low half of the file's key. 0: not known.
	 */
	u32 word;
	u32 process : 28; /* number in link_input.processes */
	u32 kind : 4;	  /* enum hand_off_kind */
};

/* A process was made. */
struct request_fork {
	u64 time_ns;
	u32 parent, child; /* numbers in link_input.processes */
	u32 tid;	   /* the thread of the parent that did */
	u32 spare;
};

_Static_assert(sizeof(struct exchange) <= 120 && sizeof(struct hand_off) == 24,
	       "millions of them are kept");

#endif
