/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wall_time.h"

#include <errno.h>

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
		{"2028-02-29T00:00:00Z", 1835395200000000000},
		{"2016-12-31T23:59:60Z", 1483228800000000000},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = 42;

		CHECK_EQ(wall_time_parse(good[i].text, &ns), 0);
		CHECK_EQ(ns, good[i].ns);
	}
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
					  "2026-11-26T14:03:00",
					  "2026-11-26 14:03:00Z",
					  "2026-11-26T14:03:00Zx",
					  "2026-11-26T14:03Z",
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
