/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the services of one process do for a request, in one direction of time: how often they call
 * which peer, and what must have ended before. It is made of counts (learned.h), then settled, then
 * asked.
 */
#ifndef REQUEST_MODEL_H
#define REQUEST_MODEL_H

#include "request/learn.h"

enum {
	MODEL_SERVICES = 8, /* of a process; requests to further ones are not modelled */
	MODEL_PEERS = 16,   /* the same of peers that it calls, by how often it does */
	MODEL_NTH = LEARNED_NTH_MOST + 1,
	MODEL_DONE = LEARNED_DONE_MOST + 1,
	MODEL_CALLS = LEARNED_CALLS_MOST + 1,
};

/* The n-th call to a peer. */
struct model_step {
	u32 done[MODEL_PEERS][MODEL_DONE];  /* calls before which so many to the peer had ended */
	u32 begun[MODEL_PEERS][MODEL_DONE]; /* the same of calls that had begun */
	u32 under_way[MODEL_DONE];	    /* calls beside which so many had not */
	u64 lag_count, lag_sum, lag_squares;
	/* settled */
	u8 needs[MODEL_PEERS];	/* so many calls to the peer must have ended */
	u8 limits[MODEL_PEERS]; /* no more may have begun */
	u8 before[MODEL_PEERS]; /* so many mostly have */
	u8 beside;		/* so many may be under way */
	u32 lag_mean, lag_spread;
};

struct model_service {
	u64 requests, alone_ns, idle_ns;
	bool taught; /* no more counts are taken */
	u64 idle_calls[MODEL_PEERS];
	u32 calls[MODEL_PEERS][MODEL_CALLS]; /* requests with so many calls to the peer */
	/* settled */
	u32 nobodys_percent[MODEL_PEERS]; /* calls of nobody, in percent of the requests */
	u32 most[MODEL_PEERS];		  /* calls to the peer */
	bool always[MODEL_PEERS];	  /* nearly all requests make so many */
	u8 peers[MODEL_PEERS];		  /* those with calls */
	u32 peer_count;
};

struct model {
	u64 service_peers[MODEL_SERVICES];
	u64 received[MODEL_SERVICES]; /* requests to the service in this process */
	u64 peers[MODEL_PEERS];
	u32 service_count, peer_count;
	struct model_service *services; /* service_count */
	struct model_step *steps;	/* by service, peer, and which call to it */
};

/* Calls that a request has made, by number of the peer. */
struct model_calls {
	u16 begun[MODEL_PEERS], done[MODEL_PEERS];
	u32 under_way; /* calls to any peer */
};

/* Makes a model without counts of the services and peers of a process. 0 or -ENOMEM. */
int model_init(struct model *m, const struct link *l, const struct link_process *p);

/* Notes in the items of the process the numbers that its services and peers have in the model. */
void model_number(const struct model *m, struct link *l, const struct link_process *p);

/* Adds a count: it is a lesson_take. Keys of other services and peers are left out. */
int model_take(void *model, const struct learned_key *key, u64 count);

/* Adds the counts of earlier recordings, which are sorted, of this direction. */
void model_add(struct model *m, const struct learned *sorted, bool backward);

/* Makes the settled fields. */
void model_settle(struct model *m);

/* Numbers of a service and a peer; the count of them if they are not in the model. */
u32 model_service_number(const struct model *m, u64 service);
u32 model_peer_number(const struct model *m, u64 peer);

static inline const struct model_step *model_step(const struct model *m, u32 service, u32 peer,
						  u32 nth)
{
	nth = nth < MODEL_NTH ? nth : MODEL_NTH - 1;
	return &m->steps[(service * m->peer_count + peer) * MODEL_NTH + nth];
}

/* Whether a request that has made these calls may call the peer now. */
bool model_may(const struct model *m, u32 service, u32 peer, const struct model_calls *calls);

/* Whether it has made before what requests mostly do before this call. */
bool model_is_next(const struct model *m, u32 service, u32 peer, const struct model_calls *calls);

/* Whether a request that has made these calls may end: all that nearly all make are made. */
bool model_may_end(const struct model *m, u32 service, const struct model_calls *calls);

/* How well the delay after the last input fits: 0 is best, and about -3200 the worst. */
s32 model_fit(const struct model *m, u32 service, u32 peer, u32 nth, u64 lag_ns);

void model_free(struct model *m);

#endif
