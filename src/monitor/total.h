/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the store, added up. */
#ifndef MONITOR_TOTAL_H
#define MONITOR_TOTAL_H

#include "store/store.h"

/* Start with all zero. */
struct total {
	struct store_sum sum; /* its parts are those below, once something was added */
	struct durations parts[SPLIT_PARTS_COUNT];
};

/* 0 or -ENOMEM. */
int total_add(struct total *t, const struct store_sum *sum);
void total_free(struct total *t);

#endif
