/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as the monotonic clock of a recording. */
#include "answer/range.h"

#include <errno.h>

#include "tests/unit/check.h"

#define UNIX 1700000000000000000ull

/* The clock was set an hour ahead between the second chunk and the third; one chunk has no clock.
 */
static const struct chunk_info chunks[] = {
	{.begin_ns = 1000, .end_ns = 2000, .clock = {.monotonic_ns = 1005, .unix_ns = UNIX + 1005}},
	{.begin_ns = 2000, .end_ns = 3000, .clock = {.monotonic_ns = 2005, .unix_ns = UNIX + 2005}},
	{.begin_ns = 3000, .end_ns = 4000},
	{.begin_ns = 4000,
	 .end_ns = 5000,
	 .clock = {.monotonic_ns = 4005, .unix_ns = UNIX + 3600000000000 + 4005}},
};
static const struct recording_info info = {
	.chunks = chunks, .chunk_count = 4, .begin_ns = 1000, .end_ns = 5000};

static u64 unix_point(u64 unix_ns)
{
	return range_point(&(struct time_point){TIME_POINT_UNIX, unix_ns}, &info);
}

TEST(monotonic_time_and_durations)
{
	CHECK_EQ(range_point(&(struct time_point){TIME_POINT_NONE, 0}, &info), 0);
	CHECK_EQ(range_point(&(struct time_point){TIME_POINT_MONOTONIC, 0}, &info), 1);
	CHECK_EQ(range_point(&(struct time_point){TIME_POINT_MONOTONIC, 1500}, &info), 1500);
	CHECK_EQ(range_point(&(struct time_point){TIME_POINT_SINCE_BEGIN, 500}, &info), 1500);
}

TEST(unix_time_by_the_clock_of_its_chunk)
{
	CHECK_EQ(unix_point(UNIX + 1500), 1500);
	CHECK_EQ(unix_point(UNIX + 2999), 2999);
	CHECK_EQ(unix_point(UNIX + 3500), 3500); /* as the chunk before says */
	CHECK_EQ(unix_point(UNIX + 3600000000000 + 4500), 4500);
	CHECK_EQ(unix_point(UNIX + 3600000000000 + 9999), 9999);
	CHECK_EQ(unix_point(UNIX + 10), 10); /* before all: as the first chunk says */
	CHECK_EQ(unix_point(UNIX - 10), 1);  /* before the host was booted */
	CHECK_EQ(unix_point(0), 1);
}

TEST(ranges_that_hold_nothing)
{
	const struct {
		u64 from_ns, to_ns;
		int err;
	} ranges[] = {
		{0, 0, 0},	    {1, 1001, 0},	   {4999, 0, 0},    {5000, 0, -ERANGE},
		{0, 1000, -ERANGE}, {2000, 2000, -ERANGE}, {1, 1, -ERANGE}, {3000, 2000, -ERANGE},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct partial_options o = {.from_ns = ranges[i].from_ns,
						  .to_ns = ranges[i].to_ns};

		CHECK_EQ(range_check(&o, info.begin_ns, info.end_ns, NULL), ranges[i].err);
	}
}

TEST_MAIN()
