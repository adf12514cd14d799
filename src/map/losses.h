/* SPDX-License-Identifier: Apache-2.0 */
/* Records that were lost, and the lives that this concerns. */
#ifndef MAP_LOSSES_H
#define MAP_LOSSES_H

#include "map/partial.h"

/* Adds what the record of a loss tells. 0 or -ENOMEM. */
int losses_add(struct partial *p, const struct record_head *r);

/* Before lives are merged. 0 or -ENOMEM. */
int losses_merge(struct partial *left, struct partial *right);

/* Tells a life of the losses among the first `count` that it does not know, until to_ns. */
int partial_tell_losses(struct partial *p, struct life *l, size_t count, u64 to_ns);

/* Begins or ends a hole, if the record tells that. 0 or -ENOMEM. */
int holes_follow(struct partial *p, const struct record_lost *lost);

/* Tells a life of what is missing up to to_ns, before its record of that time. 0 or -ENOMEM. */
int partial_tell_holes(struct partial *p, struct life *l, u64 to_ns);

/* Makes losses of all holes, up to that time. 0 or -ENOMEM. */
int holes_end(struct partial *p, u64 to_ns);

/*
 * Once every life knows of all losses: makes one loss of them, as a thread that is seen first later
 * needs to know from when to when there were any.
 */
void losses_shorten(struct partial *p);

/*
 * Puts the list of losses, and the numbers that lives have of it, into one form, however they were
 * merged (loss_order.c). The outcome of no merge changes. 0 or -ENOMEM.
 */
int losses_order(struct partial *p);

/*
 * Nothing comes from the left of the life: it may miss what was lost before its first record. 0 or
 * -ENOMEM.
 */
int partial_life_begin(struct partial *p, struct life *l);

/* When the accounting of a life begins that was not born: with the range, or behind a gap. */
u64 partial_life_from(const struct partial *p, const struct life *l);

#endif
