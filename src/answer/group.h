/* SPDX-License-Identifier: Apache-2.0 */
/* Groups in the making. Only grouping.c, overhead.c and rows.c use it. */
#ifndef ANSWER_GROUP_H
#define ANSWER_GROUP_H

#include "answer/rows.h"

/*
 * The group of this identity and of the host that is summed up, a new one if there is none. Its
 * row may point to texts that live as long as the partial. NULL if the memory ran out.
 */
struct group *group_of(struct rows *rows, const char *identity);

/* Counts calls that failed with an error. 0 or -ENOMEM. */
int group_add_errno(struct group *g, u32 number, u64 count);

/* Adds an address of a peer, if it is not there yet. 0 or -ENOMEM. */
int group_add_address(struct group *g, const char *address);

/* Copies the borrowed texts of a row. 0 or -ENOMEM. */
int row_own(struct rows *rows, struct row *row);

/* Adds one duration with its time split, or a sum of many. 0 or -ENOMEM. */
int group_add(struct group *g, const struct split *split, u64 duration_ns, bool error);
int group_add_sum(struct group *g, const struct sum *sum);
/* Adds time alone, of what is counted elsewhere. */
void group_add_time(struct group *g, const struct split *split);

#endif
