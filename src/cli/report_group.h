/* SPDX-License-Identifier: Apache-2.0 */
/* What each --by sums up: rows in the making, by an identity. Inside of report_*.c only. */
#ifndef CLI_REPORT_GROUP_H
#define CLI_REPORT_GROUP_H

#include "cli/report_rows.h"

/* A text that lives as long as the rows; NULL without memory. */
__attribute__((format(printf, 2, 3))) const char *report_text_keep(struct report_rows *out,
								   const char *format, ...);

/* The group that bears this identity, a new one if there is none; NULL without memory. */
struct report_group *report_group_of(struct report_rows *out, const char *identity);

/* One more, and a sum of many. 0 or -ENOMEM. */
int report_group_add(struct report_group *g, const struct split *split, u64 duration_ns,
		     bool error);
int report_group_add_sum(struct report_group *g, const struct sum *sum);

#endif
