/* SPDX-License-Identifier: Apache-2.0 */
/* Decides, for one process, to which request each of its calls belongs. */
#ifndef REQUEST_DECIDE_H
#define REQUEST_DECIDE_H

#include "request/order.h"

#define DECIDE_RULES 3 /* tried in each direction */

/* Memory for the decisions of all processes, one after another. */
struct decide_space {
	struct order_space order;
	/* by number of the call; in->exchange_count of each: one for each rule tried in a direction
	 */
	struct choice *ways[2][DECIDE_RULES];
	u32 *owners;
	u8 *how;		/* the evidence, where both ways agreed at first */
	struct learned learned; /* sorted copy of what earlier recordings taught */
};

int decide_space_init(struct decide_space *space, const struct link *l);
void decide_space_free(struct decide_space *space);

/* Fills the edges of the calls of the process. All labels are made. 0 or -ENOMEM. */
int process_decide(struct link *l, struct link_process *p, struct decide_space *space,
		   struct edge *edges);

#endif
