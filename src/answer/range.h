/* SPDX-License-Identifier: Apache-2.0 */
/* The range of time that an answer is asked for, on the clock of a recording. */
#ifndef ANSWER_RANGE_H
#define ANSWER_RANGE_H

#include "base/error.h"
#include "base/range.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/*
 * Converts a point in time to the monotonic clock of a recording; 0: not given. The time 0 of the
 * clock becomes 1, which is also before all records. Unix time is converted by the clock of the
 * chunk that was recorded then, or of the last one before.
 */
u64 range_point(const struct time_point *point, const struct recording_info *info);

/*
 * Converts both limits of a range. A time of day is its last occurrence inside of the recording.
 * One that `to` gives is the first one behind `from`, if `from` is given. A time of day at which
 * nothing was recorded is the one that is nearest to the recording.
 */
void range_points(const struct time_point *from, const struct time_point *to,
		  const struct recording_info *info, struct partial_options *range);

/*
 * Refuses a range outside of the recording, which lasts from begin_ns to end_ns, and a range that
 * ends before it begins: -ERANGE. Else 0.
 */
int range_check(const struct partial_options *range, u64 begin_ns, u64 end_ns, struct error *e);

#endif
