/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to block devices, as spans of the kernel and sums. */
#ifndef MAP_KERNEL_BLOCKS_H
#define MAP_KERNEL_BLOCKS_H

#include "record/record.h"

struct partial;

/* Adds what the record of a request tells. 0 or -ENOMEM. */
int blocks_add(struct partial *p, const struct record_head *r);

#endif
