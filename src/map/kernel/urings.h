/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to io_urings, as spans of the kernel and sums. */
#ifndef MAP_KERNEL_URINGS_H
#define MAP_KERNEL_URINGS_H

#include "record/record.h"

struct partial;

/* Adds what the record of a request tells. 0 or -ENOMEM. */
int urings_add(struct partial *p, const struct record_head *r);

#endif
