/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a time was recorded, and what was lost in it, as whoever runs the server knows it. */
#ifndef SERVE_COVERAGE_H
#define SERVE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#define COVERAGE_GAPS_MAX 100

struct coverage_gap {
	uint64_t begin_ns, end_ns; /* since 1970 */
	const char *reason;	   /* static */
};

/* All zero: nothing is known of that time. */
struct coverage {
	bool is_known;
	double share;		   /* of the time that was recorded: 0 to 1 */
	uint64_t lost, incomplete; /* records, and fields of records */
	unsigned int gaps_count;   /* the first ones of that time */
	struct coverage_gap gaps[COVERAGE_GAPS_MAX];
};

#endif
