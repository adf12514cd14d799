/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each call of a process to one of its open requests, in the order of time or backward.
 * Labels hold. Of the others, a call goes to a request that may make it now, by the model of its
 * service; where several may, the order of their inputs decides.
 */
#ifndef REQUEST_ORDER_H
#define REQUEST_ORDER_H

#include "request/model.h"

/* Which request comes first of those that may make a call. */
enum order_rule {
	ORDER_BATCH,  /* whose input was the last one on the thread: the loop went on at once */
	ORDER_FIRST,  /* whose last input came first: the loop deferred it, in order */
	ORDER_THREAD, /* at which the thread worked last: a carrier */
	ORDER_LAST,   /* whose last input came last */
	ORDER_RULES,
};

/* To which request a call was given. */
struct choice {
	u32 request;	/* NOBODY: to none */
	u16 hop;	/* how many calls of the request were given before it */
	u8 evidence;	/* enum edge_evidence */
	bool given : 1; /* the request counts it */
	bool near : 1;	/* another call of the request, which has a label, began at the same time */
};

/* How well an order fits, without any truth. */
struct order_score {
	u64 ended, complete; /* requests that ended, and of these with all that they always make */
	u64 fits;
	s64 fit; /* of as many delays */
};

/* What a pass needs of memory, for any process; order_space_init() makes it. */
struct order_thread;
struct order_space {
	struct order_thread *threads; /* by number; l->threads.count */
	u32 pass;		      /* of the values that are valid */
};

int order_space_init(struct order_space *space, const struct link *l);
void order_space_free(struct order_space *space);

struct order_task {
	struct link *l;
	const struct link_process *p;
	const struct model *model; /* settled, of the direction */
	const u32 *agreed;	   /* by number of the call: as good as a label; NULL: none */
	struct order_space *space;
	enum order_rule rule;
	bool backward;
};

/*
 * Writes choices[call] for the calls of the process; in->exchange_count of them. Backward, calls
 * without an answer are given to nobody. 0 or -ENOMEM.
 */
int order_run(const struct order_task *task, struct choice *choices, struct order_score *score);

/* A score as one number: the greater the better. */
double order_score_value(const struct order_score *score);

#endif
