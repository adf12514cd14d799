/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and points in time, as users set them. */
#ifndef BASE_RANGE_H
#define BASE_RANGE_H

#include <stdbool.h>
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
		TIME_POINT_UNIX,
		TIME_POINT_BEFORE_END,
		TIME_POINT_OF_DAY
	} kind;
	/*
	 * Of the host's monotonic clock; since the begin of the recording; since 1970; before the
	 * end of the recording; since midnight in the reader's zone, of a day that the recording
	 * tells.
	 */
	uint64_t ns;
};

/*
 * Whether a range from one point to the other is empty, as far as this is known without the
 * recording. Times of day may lie on two days.
 */
static inline bool time_points_cross(const struct time_point *from, const struct time_point *to)
{
	if (!from->kind || from->kind != to->kind)
		return false;
	if (from->kind == TIME_POINT_OF_DAY)
		return from->ns == to->ns;
	return from->kind == TIME_POINT_BEFORE_END ? from->ns <= to->ns : from->ns >= to->ns;
}

#endif
