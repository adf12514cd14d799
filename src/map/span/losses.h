/* SPDX-License-Identifier: Apache-2.0 */
/* Records of spans that processes lost. */
#ifndef MAP_SPAN_LOSSES_H
#define MAP_SPAN_LOSSES_H

#include "record/record.h"

struct partial;

/* Adds what a record of a loss tells. 0 or -ENOMEM. */
int span_loss_add(struct partial *p, const struct record_lost *lost);

/*
 * Joins the losses, and finds what is unsure on account of them, once all lives have ended and all
 * spans are there. 0 or -ENOMEM.
 */
int span_losses_apply(struct partial *p);

#endif
