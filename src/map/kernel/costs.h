/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost: sums of the records that tell it. Each belongs whole to the range in which
 * it ends. Not thread-safe.
 */
#ifndef MAP_KERNEL_COSTS_H
#define MAP_KERNEL_COSTS_H

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"

struct partial;

#define COST_NAME_BYTES 48

struct cost_of { /* a key: without padding, zero behind the name */
	char name[COST_NAME_BYTES];
	u16 made, flags; /* as in struct record_cost */
};

struct cost_sum {
	struct cost_of of;
	u64 runs, cost_ns;
};

struct cost_sums {
	VEC(struct cost_sum) list; /* finished: by name */
	struct bytes_map index;	   /* struct cost_of -> number in list + 1 */
};

/* Adds what a record tells. 0 or -ENOMEM. */
int costs_add(struct partial *p, const struct record_head *r);

/* Adds a sum. 0 or -ENOMEM. */
int costs_sum_add(struct cost_sums *costs, const struct cost_sum *sum);

/* Adds `right` to `left`. 0 or -ENOMEM. */
int costs_merge(struct cost_sums *left, const struct cost_sums *right);

/* Sorts them once nothing more will be added. */
void costs_sort(struct cost_sums *costs);

void costs_free(struct cost_sums *costs);

#endif
