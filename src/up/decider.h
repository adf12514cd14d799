/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests of a recording that goes on are decided: each one is stored once, when it has
 * ended and some time has passed, and not decided again. A window of the recording moves on; what
 * it has of requests that were decided, or that began before it, is passed over.
 *
 * Times are of the monotonic clock. For one thread.
 */
#ifndef UP_DECIDER_H
#define UP_DECIDER_H

#include "base/map.h"
#include "request/requests.h"

#define DECIDER_WAIT_NS 10000000000ull /* after the end of a request */
#define DECIDER_OPEN_NS                                                                            \
	60000000000ull		     /* one that is open for longer is decided without its end     \
				      */
#define DECIDER_LEAD_NS 100000000ull /* see decider_choose() */
#define DECIDER_STORED_MAX 262144u   /* spans that are remembered */
#define DECIDER_OWN_MAX 8
#define DECIDER_ADDRESSES_MAX 4096u /* that are remembered */

struct decider_span {
	u64 id, end_ns;
};

/* Starts with all zero, or with the first two as an earlier one left them. */
struct decider {
	u64 decided_ns;	  /* what ended by then is decided */
	u64 undecided_ns; /* what began before it is decided */
	struct map stored;
	VEC(struct decider_span) spans; /* of `stored`, in the order in which they came */
	struct map own_addresses;	/* address_hash() of where this program served */
};

struct decider_input {
	const struct requests *r; /* of one host */
	const struct partial *p;  /* of that time, finished */
	u64 to_ns;		  /* the end of the window */
	u64 wait_ns;		  /* after the end of a request */
	u64 open_ns;		  /* one that is open for longer is decided; 0: DECIDER_OPEN_NS */
	u32 own[DECIDER_OWN_MAX]; /* pids; what they call or serve is no request; 0: none */
	const struct map *own_addresses; /* of decider_own_find(); NULL: none */
};

/* Starts with all zero; `traces` is freed by the caller. */
struct decision {
	VEC(u32) traces; /* numbers in requests.traces */
	u64 decided_ns, undecided_ns;
	u64 open; /* of these, without their end */
};

/*
 * Notes at which addresses the program that follows requests served, for this input and later ones:
 * a request to one of them is its own, too, if a part was killed before it read the request. 0 or
 * -ENOMEM.
 */
int decider_own_find(struct decider *d, struct decider_input *in);

/* Whether that program makes or serves this one: who looks sees no more. */
bool decider_is_own(const struct decider_input *in, const struct exchange *x);

/*
 * Chooses. A request is left out, as if it had not been seen, if byte ranges were recorded in only
 * a part of its time, or began to be less than DECIDER_LEAD_NS before it: then it may be a part of
 * one whose begin was not seen. So it is in a gap, in which a crash leaves what some CPUs recorded.
 * 0 or -ENOMEM.
 */
int decider_choose(const struct decider *d, const struct decider_input *in, struct decision *out);

/*
 * For how many requests like it one stands that was chosen: where byte ranges are recorded in
 * turns, the length of a turn over the part of it in which this one could have begun. 0: for itself
 * alone.
 */
u32 decider_stands_for(const struct decider_input *in, const struct request_trace *t);

/*
 * Requests of one kind are alike: to the same operation, about as long, with about as many spans,
 * with or without an answer to each call, and with or without spans of applications.
 */
u64 decider_kind(const struct decider_input *in, const struct request_trace *t);

/*
 * The decision is stored: it is not decided again. Forgets spans that ended before the window
 * begins. 0, or -ENOMEM: then some may be stored again.
 */
int decider_done(struct decider *d, const struct decider_input *in, const struct decision *done,
		 u64 window_ns);

/* Whether a span was stored, with another request. */
static inline bool decider_has(const struct decider *d, u64 span_id)
{
	return map_get(&d->stored, span_id);
}

void decider_free(struct decider *d);

#endif
