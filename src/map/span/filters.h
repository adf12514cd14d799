/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of recorders, and the time that is unknown because of them. */
#ifndef MAP_SPAN_FILTERS_H
#define MAP_SPAN_FILTERS_H

#include "model/life.h"

struct partial;

/*
 * A recorder left this out, from the gap before that time to the gap behind it. The level of detail
 * (FILTER_CALLS) may change between them: it holds from that time on, the first one also before.
 */
struct filter_told {
	u64 time_ns;
	u32 flags; /* FILTER_* */
};

/* Sorts them, once gaps are sorted and before the functions below are called. */
void filters_sort(struct partial *p);

/* Leaves what holds at the end of the partial. */
void filters_prune(struct partial *p);

/* FILTER_*: what was left out then; of sorted filters. */
u32 filters_at(const struct partial *p, u64 time_ns);

/* FILTER_*: what was left out while the thread lived, FILTER_CALLS as at its begin. */
u32 filters_of_life(const struct partial *p, const struct life *l);

/*
 * When the accounting of a life begins that was not born (partial_life_from()). Notes in the life
 * whether calls were recorded then.
 */
u64 filters_life_from(const struct partial *p, struct life *l);

/*
 * Notes what is in doubt of each life, once lives have ended and before gaps join them. User code
 * becomes cpu where some calls were left out.
 */
void filters_doubt(struct partial *p);

/* Makes what is in doubt unknown, once lives and facts are sorted. 0 or -ENOMEM. */
int filters_apply(struct partial *p);

/*
 * FILTER_*: what recorders left out anywhere in [from_ns, to_ns). A recorder that had stopped
 * before, or began later, does not count. Of a finished partial.
 */
u32 partial_filters(const struct partial *p, u64 from_ns, u64 to_ns);

/* How much of [from_ns, to_ns) was recorded, and in how much of that calls were. Likewise. */
struct calls_share {
	u64 calls_ns, recorded_ns;
};
struct calls_share partial_calls_share(const struct partial *p, u64 from_ns, u64 to_ns);

/* Whether calls were recorded at no time of the range: the waits in them count in their place. */
bool partial_calls_are_waits(const struct partial *p);

#endif
