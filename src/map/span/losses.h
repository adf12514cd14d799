/* SPDX-License-Identifier: Apache-2.0 */
/* Records of spans that processes lost. */
#ifndef MAP_SPAN_LOSSES_H
#define MAP_SPAN_LOSSES_H

#include "record/record.h"

struct partial;

/* A process lost records of its own. */
struct span_loss {
	u32 pid;
	u64 begin_ns, end_ns;
};

/* Adds what a record of a loss tells. 0 or -ENOMEM. */
int span_loss_add(struct partial *p, const struct record_lost *lost);

/* Sorts them by process and time; those that overlap become one. */
void span_losses_sort(struct partial *p);

/*
 * Finds what is unsure on account of them, once all lives have ended and all spans are there. 0 or
 * -ENOMEM.
 */
int span_losses_apply(struct partial *p);

#endif
