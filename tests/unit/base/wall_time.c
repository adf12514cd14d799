/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wall_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/check.h"

TEST(points_in_time)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"@0", 0},
		{"@1795701780", 1795701780000000000},
		{"@1795701780.000000001", 1795701780000000001},
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-26T14:03:00Z", 1795701780000000000},
		{"2026-11-26T14:03:00.25Z", 1795701780250000000},
		{"2026-11-26T15:03:00+01:00", 1795701780000000000},
		{"2026-11-26T10:33:00-0330", 1795701780000000000},
		{"2026-11-26 14:03Z", 1795701780000000000},
		{"2026-11-26T14:03:00", 1795701780000000000}, /* TZ is UTC */
		{"2028-02-29T00:00:00Z", 1835395200000000000},
		{"2016-12-31T23:59:60Z", 1483228800000000000},
	};

	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = 42;

		CHECK_EQ(wall_time_parse(good[i].text, &ns), 0);
		CHECK_EQ(ns, good[i].ns);
	}
}

#define HOUR_NS 3600000000000ull

TEST(times_of_day)
{
	static const char *const bad[] = {"",	   "11",	"11:3",	 "24:00",
					  "11:60", "11:31:17.", "11:31Z"};
	uint64_t ns = 42;

	CHECK_EQ(wall_time_parse_of_day("11:31", &ns), 0);
	CHECK_EQ(ns, 11 * HOUR_NS + 31 * 60000000000ull);
	CHECK_EQ(wall_time_parse_of_day("00:00:01.25", &ns), 0);
	CHECK_EQ(ns, 1250000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(wall_time_parse_of_day(bad[i], &ns), -EINVAL);
}

/* The reader's zone changes to summer time in the night to the 29th of March. */
TEST(local_time)
{
	const uint64_t noon = 1774782000ull * 1000000000; /* 2026-03-29T13:00:00+02:00 */
	struct wall_text text;
	uint64_t ns;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	text = wall_time_write(noon + 1500);
	CHECK_STR(text.date, "2026-03-29");
	CHECK_STR(text.time, "13:00:00.000001");
	CHECK_STR(text.zone, "CEST (+0200)");
	CHECK_EQ(wall_time_of_day(noon, 0, 13 * HOUR_NS + 5), noon + 5);
	CHECK_EQ(wall_time_of_day(noon, 0, HOUR_NS), noon - 11 * HOUR_NS);
	CHECK_EQ(wall_time_of_day(noon, -1, 13 * HOUR_NS), noon - 23 * HOUR_NS);
	CHECK_EQ(wall_time_parse("2026-03-29 13:00", &ns), 0);
	CHECK_EQ(ns, noon);
	setenv("TZ", "UTC", 1);
	tzset();
	CHECK_STR(wall_time_write(noon).zone, "UTC");
}

TEST(no_points_in_time)
{
	static const char *const bad[] = {"",
					  "@",
					  "@1s",
					  "@-1",
					  "@1.",
					  "@1.0000000001",
					  "12:00:00",
					  "2026-11-26",
					  "2026-11-26T14:03:00Zx",
					  "2026-11-26T14Z",
					  "2026-11-26  14:03Z",
					  "2026-1-26T14:03:00Z",
					  "2026-13-26T14:03:00Z",
					  "2026-11-31T14:03:00Z",
					  "2027-02-29T14:03:00Z",
					  "2026-11-26T24:03:00Z",
					  "2026-11-26T14:03:00+1",
					  "2026-11-26T14:03:00.Z"};
	static const char *const beyond[] = {"1969-12-31T23:59:59Z", "@9223372036",
					     "@99999999999999999999999",
					     "1970-01-01T00:00:00+00:01", "9999-01-01T00:00:00Z"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ns = 42;

		CHECK_EQ(wall_time_parse(bad[i], &ns), -EINVAL);
		CHECK_EQ(ns, 42);
	}
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		uint64_t ns = 42;

		CHECK_EQ(wall_time_parse(beyond[i], &ns), -ERANGE);
		CHECK_EQ(ns, 42);
	}
}

TEST_MAIN()
