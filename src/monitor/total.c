/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/total.h"

#include <errno.h>

int total_add(struct total *t, const struct store_sum *sum)
{
	struct store_sum *to = &t->sum;

	to->parts = t->parts;
	to->count += sum->count;
	to->seen += sum->seen;
	to->errors += sum->errors;
	to->total_ns += sum->total_ns;
	to->measured += sum->measured;
	to->measured_seen += sum->measured_seen;
	to->max_ns = sum->max_ns > to->max_ns ? sum->max_ns : to->max_ns;
	split_add(&to->time, &sum->time);
	for (unsigned int p = 0; sum->parts && p < SPLIT_PARTS_COUNT; p++) {
		if (durations_merge(&t->parts[p], &sum->parts[p]))
			return -ENOMEM;
	}
	return durations_merge(&to->durations, &sum->durations);
}

void total_free(struct total *t)
{
	durations_free(&t->sum.durations);
	for (unsigned int p = 0; p < SPLIT_PARTS_COUNT; p++)
		durations_free(&t->parts[p]);
}
