/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in the making, found by an identity. For rows.c and groupings.c only. */
#ifndef ANSWER_GROUP_H
#define ANSWER_GROUP_H

#include "answer/rows.h"

/* A text that lives as long as the rows; NULL without memory. */
__attribute__((format(printf, 2, 3))) const char *rows_text(struct rows *out, const char *format,
							    ...);

/* The group that bears this identity, a new one if there is none; NULL without memory. */
struct group *group_of(struct rows *out, const char *identity);

/* One more, and a sum of many. 0 or -ENOMEM. */
int group_add(struct group *g, const struct split *split, u64 duration_ns, bool error);
int group_add_sum(struct group *g, const struct sum *sum);

#endif
