/* SPDX-License-Identifier: Apache-2.0 */
/* The time that each thread gave to one span. */
#ifndef MAP_SPAN_SHARES_H
#define MAP_SPAN_SHARES_H

#include "map/span/spans.h"

/* Adds one time that a thread had the span. 0 or -ENOMEM. */
int share_add(struct span_shares *shares, const struct span_share *once);

/* The share of a thread; NULL: it has none. */
struct span_share *share_of(const struct span_shares *shares, u32 tid);

/* Moves the shares of `from`, which is only to be freed afterwards. 0 or -ENOMEM. */
int shares_join(struct span_shares *to, struct span_shares *from);

/* Sorts them by tid, and the holds of each by time. 0 or -ENOMEM. */
int shares_sort(struct span_shares *shares);

/*
 * Sorts the times that each thread had the span, and makes one of those that follow each other
 * and ended before that time.
 */
void shares_coalesce(struct span_shares *shares, u64 before_ns);

void shares_free(struct span_shares *shares);

#endif
