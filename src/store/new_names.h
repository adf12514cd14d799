/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many new names of services and operations come into lists and sums: so many an hour. A
 * program with an id in each name uses them up, so the last tenth is for services that are new.
 */
#ifndef STORE_NEW_NAMES_H
#define STORE_NEW_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define NEW_NAMES_HOUR_NS UINT64_C(3600000000000)
#define NEW_NAMES_RESERVED 10 /* one part in so many */

struct new_names {
	uint64_t per_hour;
	uint64_t hour_ns; /* when the hour began, by the monotonic clock; 0: none did */
	uint64_t count;	  /* in this hour */
	uint64_t pending; /* of these, since the last commit */
};

/* Whether another name may come. It counts then. */
static inline bool new_names_take(struct new_names *n, bool is_new_service, uint64_t now_ns)
{
	uint64_t reserved = is_new_service ? 0 : n->per_hour / NEW_NAMES_RESERVED;

	if (!n->hour_ns || now_ns - n->hour_ns >= NEW_NAMES_HOUR_NS) {
		n->hour_ns = now_ns;
		n->count = n->pending = 0;
	}
	if (n->count + reserved >= n->per_hour)
		return false;
	n->count++;
	n->pending++;
	return true;
}

static inline void new_names_committed(struct new_names *n)
{
	n->pending = 0;
}

/* They come again from the log. */
static inline void new_names_abandoned(struct new_names *n)
{
	n->count -= n->pending;
	n->pending = 0;
}

#endif
