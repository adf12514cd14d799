/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a service of a kind that is met in practice, called by clients and calling servers of
 * its own, and gives what a recording of it would show, with the truth: to which request each call
 * belongs. All delays are random, from the seed.
 */
#ifndef TESTS_UNIT_REQUEST_SERVICES_H
#define TESTS_UNIT_REQUEST_SERVICES_H

#include "base/vec.h"
#include "request/link.h"

enum service_kind {
	SERVICE_THREADS, /* a thread for each connection */
	SERVICE_POOL, /* a thread reads; threads of a pool wait at a condition, call and answer */
	SERVICE_FUTURES,  /* a thread for each connection; a pool makes its calls and ends its wait
			   */
	SERVICE_LOOP,	  /* a loop goes on at once with what it read */
	SERVICE_DEFERS,	  /* a loop goes on one turn later with what it read, in order */
	SERVICE_CARRIERS, /* light threads on two threads; calls over some peers by other light
			     threads */
	SERVICE_KINDS,
};

struct service_plan {
	enum service_kind kind;
	u32 at_once;  /* requests, each on a connection of its own */
	u32 requests; /* in all */
	u64 seed;
	bool background;   /* calls on a timer, to a peer that requests call, too */
	bool outlives;	   /* requests do not wait for their last call */
	bool lights;	   /* light threads are seen */
	bool loop_answers; /* of a pool: the thread that reads answers, too, for its threads */
	bool multiplexed;  /* one connection to each peer, for all calls at once */
	u32 pipelined; /* requests that a client sends together on its connection; 0 or 1: one */
};

struct services {
	VEC(struct exchange) exchanges;
	VEC(u32) truth; /* the request of each call, EDGE_ROOT for a root */
	VEC(struct exchange_connection) connections;
	VEC(struct hand_off) hand_offs;
	VEC(struct exchange_detail) details;
	size_t process_count;
};

/* Runs the plan. The caller frees the result with services_free(). */
struct services services_run(const struct service_plan *plan);

/* The input for request_link(), which is valid as long as the services. */
struct link_input services_input(const struct services *s);

/* Appends services of another host: their processes get numbers of their own. */
void services_append(struct services *to, const struct services *s);

void services_free(struct services *s);

#endif
