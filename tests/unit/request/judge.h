/* SPDX-License-Identifier: Apache-2.0 */
/* Judges edges by the truth of simulated services. */
#ifndef TESTS_UNIT_REQUEST_JUDGE_H
#define TESTS_UNIT_REQUEST_JUDGE_H

#include "services.h"

/* Below this probability a call is a root, as for a user who chooses nothing. */
#define PROBABILITY_LEAST_PPM 500000

struct figures {
	u32 edges; /* that there are in truth */
	u32 found, right;
	u32 sure, sure_right; /* above a probability of 0.95 */
	u64 probability_sum;  /* of those found, in ppm */
	u32 requests, whole;  /* that have all of their calls, and no other */
	u32 by_evidence[EDGE_TIMING + 1], right_by_evidence[EDGE_TIMING + 1];
};

struct figures edges_judge(const struct services *s, const struct edge *edges);

/* Shares in hundredths of a percent. */
u32 precision_of(const struct figures *f);
u32 recall_of(const struct figures *f);
u32 share_of(u64 part, u64 all);

/* Prints all figures as a comment of TAP. */
void figures_tell(const struct figures *f, const char *of, u32 at_once);

#endif
