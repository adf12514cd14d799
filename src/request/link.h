/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the request to which each call belongs. link.c says how.
 *
 * It is a pure function over plain arrays: the same input gives the same edges, in whatever order
 * the arrays have their elements. Time and memory grow linearly with the input. No times, ranges or
 * numbers of the input are trusted.
 */
#ifndef REQUEST_LINK_H
#define REQUEST_LINK_H

#include <stddef.h>

#include "request/exchange.h"
#include "request/learned.h"

/*
 * Arrays of the caller, which may be NULL where their count is 0. They need no order.
 *
 * A process has one number over all hosts, and another one if its pid is used again. Numbers of
 * processes and details begin at 1; those of exchanges and connections at 0, as they stand in their
 * arrays. An element with a number out of range is left out.
 */
struct link_input {
	const struct exchange *exchanges;
	size_t exchange_count;
	const struct exchange_connection *connections;
	size_t connection_count;
	const struct hand_off *hand_offs;
	size_t hand_off_count;
	const struct request_fork *forks;
	size_t fork_count;
	const struct exchange_detail *details; /* [0] is not used */
	size_t detail_count;
	size_t process_count; /* their numbers are below it */
	/*
	 * Sums of earlier recordings, which are added to what this one teaches; NULL: none. What
	 * this one teaches must not be in it.
	 */
	const struct learned *learned;
	/*
	 * Only requests that came in [taught_from_ns, taught_until_ns) teach, also what decides
	 * here; until 0: all. So what inputs that overlap teach adds up, too.
	 */
	u64 taught_from_ns, taught_until_ns;
};

/* How an edge is known. Values are written to files and only appended. */
enum edge_evidence {
	EDGE_NONE = 0,	    /* there is no edge */
	EDGE_GIVEN = 1,	    /* the application published the same context at both */
	EDGE_BYTES = 2,	    /* from a call to the request that it is: both ends of an exchange */
	EDGE_GOROUTINE = 3, /* the light thread that read the request, or one that it made */
	EDGE_CONTEXT = 4,   /* the task of the thread, as the runtime published it */
	EDGE_THREAD = 5,    /* the thread did one thing at a time */
	EDGE_WAKE = 6,	    /* the work was handed over by a wake-up */
	EDGE_CONNECT = 7,   /* the request connected the connection */
	EDGE_SEQUENCE = 8,  /* the only request that could make this call now */
	EDGE_ORDER = 9,	    /* of those that could, by the order of their inputs */
	EDGE_TIMING = 10,   /* none could, by what was learned: the one with the last input */
	EDGE_EVIDENCE_COUNT /* behind the last one */
};

/* The name of an evidence, as it stands in answers: "thread". Static memory. */
const char *edge_evidence_name(enum edge_evidence evidence);

#define EDGE_ROOT UINT32_MAX
#define EDGE_CERTAIN_PPM 1000000u

/* The request to which a call belongs. */
struct edge {
	u32 parent; /* number of the exchange whose server made the call; EDGE_ROOT: none */
	u32 probability_ppm; /* that it is this one; 0 without a parent */
	u32 candidates;	     /* requests that were open in the calling process */
	u8 evidence;	     /* enum edge_evidence */
	u8 agrees;	     /* found forward and backward alike */
	u16 spare;
};

/*
 * Fills edges[0 .. exchange_count). A call from outside of what was recorded is a root, and so is
 * one of which nothing says to which request it belongs. An unlikely edge is given with its small
 * probability: the caller decides below which one a call is a root.
 *
 * No exchange is its own parent. Hostile input can make a longer circle: who walks along edges
 * bounds the way.
 *
 * 0, or -ENOMEM with `edges` in an undefined state.
 */
int request_link(const struct link_input *in, struct edge *edges);

/*
 * Adds what the input teaches: what requests did that had their process to themselves. It depends
 * on no decision, so what two inputs teach adds up. 0, or -ENOMEM with sums of a part of the input.
 */
int request_learn(const struct link_input *in, struct learned *learned);

#endif
