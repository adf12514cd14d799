/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds from when to when there were losses among any losses in a row, in few steps however many
 * they are.
 *
 * There is a list for each CPU, and one of all losses, in the order in which losses were told.
 * Element i (from 1 on) has its own bounds, and the joint bounds of the last n elements up to it; n
 * is the lowest bit of i (a Fenwick tree).
 */
#ifndef MAP_LOSS_INDEX_H
#define MAP_LOSS_INDEX_H

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"

struct loss_node {
	u32 number; /* of the loss */
	u64 begin_ns, end_ns;
	u64 first_begin_ns, last_begin_ns, first_end_ns, last_end_ns; /* of those up to it */
};

struct loss_list {
	u16 cpu;
	VEC(struct loss_node) nodes;
};

struct loss_index {
	size_t count;		     /* of losses that it has */
	struct loss_list any;	     /* all of them */
	struct map cpus;	     /* CPU + 1 -> number in lists + 1 */
	VEC(struct loss_list) lists; /* one for each CPU of a loss */
};

/* Losses with the numbers [from, to), and their time within [after_ns, until_ns). */
struct loss_range {
	size_t from, to;
	u64 after_ns, until_ns;
};

/* From the begin of the first loss to the end of the last one. */
struct loss_stretch {
	u64 begin_ns, end_ns; /* both 0: there is none */
	bool earlier;	      /* some ended at after_ns or before */
};

/* Adds the next loss. 0 or -ENOMEM, with the index unfit for further use. */
int loss_index_add(struct loss_index *index, const struct record_lost *lost);
void loss_index_free(struct loss_index *index);

/* Losses of one CPU; NULL: there are none. */
const struct loss_list *loss_index_of(const struct loss_index *index, u16 cpu);

/* Widens the stretch by what lies in the range; returns how many nodes it looked at. */
size_t loss_list_join(const struct loss_list *list, const struct loss_range *range,
		      struct loss_stretch *stretch);

#endif
