/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/range.h"

#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "base/wall_time.h"

/* How much Unix time is ahead of the monotonic clock when that chunk begins. */
static u64 unix_ahead_ns(const struct chunk_info *chunk)
{
	return chunk->clock.unix_ns - chunk->clock.monotonic_ns;
}

static u64 unix_point(u64 unix_ns, const struct recording_info *info)
{
	const struct chunk_info *of = NULL;

	for (size_t i = 0; i < info->chunk_count; i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		if (!chunk->clock.unix_ns)
			continue;
		if (!of || unix_ahead_ns(chunk) + chunk->begin_ns <= unix_ns)
			of = chunk;
	}
	if (!of || unix_ns <= unix_ahead_ns(of))
		return 1;
	return unix_ns - unix_ahead_ns(of);
}

/* The Unix time of a point of the monotonic clock, by the clock of its chunk; 0: unknown. */
static u64 unix_of(u64 monotonic_ns, const struct recording_info *info)
{
	const struct chunk_info *of = NULL;

	for (size_t i = 0; i < info->chunk_count; i++) {
		const struct chunk_info *chunk = &info->chunks[i];

		if (chunk->clock.unix_ns && (!of || chunk->begin_ns <= monotonic_ns))
			of = chunk;
	}
	return of ? unix_ahead_ns(of) + monotonic_ns : 0;
}

/* The last occurrence of a time of day up to the end; else the next one, if that is nearer. */
static u64 day_point(u64 of_day_ns, const struct recording_info *info)
{
	u64 begin = unix_of(info->begin_ns, info), end = unix_of(info->end_ns, info);
	u64 last = wall_time_of_day(end, 0, of_day_ns), next;

	if (!end)
		return 1;
	if (last > end)
		last = wall_time_of_day(end, -1, of_day_ns);
	next = wall_time_of_day(last, 1, of_day_ns);
	return last < begin && next - end < begin - last ? next : last;
}

/* The first occurrence of a time of day behind a point. */
static u64 day_point_behind(u64 of_day_ns, u64 from_ns, const struct recording_info *info)
{
	u64 from = unix_of(from_ns, info), at = wall_time_of_day(from, 0, of_day_ns);

	return at > from ? at : wall_time_of_day(from, 1, of_day_ns);
}

u64 range_point(const struct time_point *point, const struct recording_info *info)
{
	switch (point->kind) {
	case TIME_POINT_MONOTONIC:
		return point->ns ? point->ns : 1;
	case TIME_POINT_SINCE_BEGIN:
		return info->begin_ns + point->ns;
	case TIME_POINT_BEFORE_END:
		return point->ns < info->end_ns ? info->end_ns - point->ns : 1;
	case TIME_POINT_UNIX:
		return unix_point(point->ns, info);
	case TIME_POINT_OF_DAY:
		return unix_point(day_point(point->ns, info), info);
	default:
		return 0;
	}
}

void range_points(const struct time_point *from, const struct time_point *to,
		  const struct recording_info *info, struct partial_options *range)
{
	range->from_ns = range_point(from, info);
	if (from->kind && to->kind == TIME_POINT_OF_DAY)
		range->to_ns = unix_point(day_point_behind(to->ns, range->from_ns, info), info);
	else
		range->to_ns = range_point(to, info);
}

int range_check(const struct partial_options *range, u64 begin_ns, u64 end_ns, struct error *e)
{
	char length[UNITS_TEXT_BYTES];

	if (range->to_ns && range->from_ns >= range->to_ns)
		return error_say(e, ERANGE, "--from is after --to");
	if (range->from_ns < end_ns && (!range->to_ns || range->to_ns > begin_ns))
		return 0;
	return error_say(e, ERANGE,
			 "the range is outside of the recording, which lasts %s, from %" PRIu64
			 " to %" PRIu64 " ns",
			 units_format_ns((int64_t)(end_ns - begin_ns), length), begin_ns, end_ns);
}
