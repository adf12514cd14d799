/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/range.h"

#include <errno.h>
#include <inttypes.h>

#include "base/units.h"

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

u64 range_point(const struct time_point *point, const struct recording_info *info)
{
	switch (point->kind) {
	case TIME_POINT_MONOTONIC:
		return point->ns ? point->ns : 1;
	case TIME_POINT_SINCE_BEGIN:
		return info->begin_ns + point->ns;
	case TIME_POINT_UNIX:
		return unix_point(point->ns, info);
	default:
		return 0;
	}
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
