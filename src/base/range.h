/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and points in time, as users set them. */
#ifndef BASE_RANGE_H
#define BASE_RANGE_H

#include <stdint.h>

/* A limit by time, by size, or by both. 0: no limit. */
struct limits {
	uint64_t time_ns;
	uint64_t bytes;
};

/* A point in time of a recording. */
struct time_point {
	enum {
		TIME_POINT_NONE,
		TIME_POINT_MONOTONIC,
		TIME_POINT_SINCE_BEGIN,
		TIME_POINT_UNIX
	} kind;
	uint64_t ns; /* of the host's monotonic clock, since the begin of the recording, or since
			1970 */
};

#endif
