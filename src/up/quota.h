/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the requests that were followed are stored, where they have more spans than the store is
 * to take. Each one that is stored stands for some of its kind (`times`), so that counts are those
 * of all.
 *
 * The kinds share the room: those with few requests are stored whole, and the others get equal
 * parts. So what is rare, as what is slow or failed mostly is, stays in full. Of each `times`
 * requests of a kind that follow each other one is drawn, so that no rhythm of theirs matters.
 *
 * For one thread.
 */
#ifndef UP_QUOTA_H
#define UP_QUOTA_H

#include <stddef.h>
#include <stdint.h>

#define QUOTA_SAVED_NS UINT64_C(30000000000) /* the room of so long is saved at most */
#define QUOTA_TIMES_MOST 64u		     /* also where this is more than there is room for */
#define QUOTA_UNSEEN_MOST 16u		     /* times what was seen */

struct quota {
	uint64_t rate;	    /* spans a second, in the mean; 0: no bound */
	int64_t room_ns;    /* that is left: a span takes the time in which it is granted */
	uint64_t filled_ns; /* 0: never */
	uint64_t draws;
};

struct quota_request {
	uint64_t kind; /* those of one are alike */
	uint32_t spans;
	uint32_t times; /* gets how many it stands for; 0: it is left out */
};

/*
 * For how many one stands that was chosen: with `turns`, that of decider_stands_for(), where byte
 * ranges were seen for seen_ns, of came_ns in which they were recorded. 0: for itself alone.
 */
uint32_t quota_stands_for(const struct quota_request *chosen, uint32_t turns, uint64_t seen_ns,
			  uint64_t came_ns);

/* 0 or -ENOMEM. */
int quota_choose(struct quota *q, struct quota_request *list, size_t count, uint64_t now_ns);

#endif
