/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as the monotonic clock of a recording. */
#include "answer/range.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

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

/* A long recording, from 2023-11-14T22:00:00Z on; the host was booted some hours before. */
#define BOOTED_BEFORE 36000000000000ull
static const struct chunk_info long_chunk = {
	.begin_ns = BOOTED_BEFORE,
	.end_ns = BOOTED_BEFORE + 28 * 3600000000000ull,
	.clock = {.monotonic_ns = BOOTED_BEFORE, .unix_ns = 1699999200000000000}};
static const struct recording_info long_info = {.chunks = &long_chunk,
						.chunk_count = 1,
						.begin_ns = BOOTED_BEFORE,
						.end_ns = BOOTED_BEFORE + 28 * 3600000000000ull};

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

static struct partial_options points_of(struct time_point from, struct time_point to)
{
	struct partial_options range = {0};

	setenv("TZ", "UTC", 1);
	tzset();
	range_points(&from, &to, &long_info, &range);
	return range;
}

#define SECOND 1000000000ull
#define OF_DAY(hours, minutes)                                                                     \
	((struct time_point){TIME_POINT_OF_DAY, ((hours)*60ull + (minutes)) * 60 * SECOND})
#define AT(hours) (BOOTED_BEFORE + (hours)*3600ull * SECOND)

/* The recording lasts from 22:00 to 02:00 two days later: 28 hours. */
TEST(a_time_of_day_is_its_last_occurrence)
{
	const struct time_point none = {0};

	CHECK_EQ(points_of(OF_DAY(1, 0), none).from_ns, AT(27));
	CHECK_EQ(points_of(OF_DAY(23, 30), none).from_ns, AT(25) + 1800 * SECOND);
	CHECK_EQ(points_of(OF_DAY(3, 0), none).from_ns, AT(5));
	CHECK_EQ(points_of(none, OF_DAY(3, 0)).to_ns, AT(5));
	/* the end is the first one behind the begin */
	CHECK_EQ(points_of(OF_DAY(23, 0), OF_DAY(1, 0)).from_ns, AT(25));
	CHECK_EQ(points_of(OF_DAY(23, 0), OF_DAY(1, 0)).to_ns, AT(27));
	CHECK_EQ(points_of(OF_DAY(23, 0), OF_DAY(22, 30)).to_ns, AT(48) + 1800 * SECOND);
	CHECK_EQ(points_of((struct time_point){TIME_POINT_BEFORE_END, 60 * SECOND}, none).from_ns,
		 AT(28) - 60 * SECOND);
	CHECK_EQ(points_of((struct time_point){TIME_POINT_BEFORE_END, AT(99)}, none).from_ns, 1);
}

/* Nothing was recorded at that time of day: a limit moves to the nearest end of the recording. */
TEST(a_time_of_day_beside_the_recording)
{
	struct recording_info hour = long_info;
	const struct time_point none = {0};
	struct partial_options range = {0};
	const struct time_point before = OF_DAY(21, 0), behind = OF_DAY(23, 30);

	hour.end_ns = AT(1);
	range_points(&before, &none, &hour, &range);
	CHECK_EQ(range.from_ns, BOOTED_BEFORE - 3600 * SECOND);
	range_points(&behind, &none, &hour, &range);
	CHECK_EQ(range.from_ns, AT(1) + 1800 * SECOND);
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
