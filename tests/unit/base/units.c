/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>

#include "tests/unit/check.h"

TEST(durations)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"250us", 250000},	 {"10ms", 10000000},
		{"1s", 1000000000},	 {"1.5s", 1500000000},
		{"2m", 120000000000},	 {"1h", 3600000000000},
		{"7d", 604800000000000}, {"0s", 0},
		{"0.001ms", 1000},	 {"0.000000001s", 1},
	};
	static const char *const bad[] = {"",	 "1",	"s",  "-1s",	       "1S", "1 s", "1.s",
					  ".5s", "1sx", "1M", "0.0000000001s", "1ns"};
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(units_parse_duration(good[i].text, &ns), 0);
		CHECK_EQ(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 42;
		CHECK_EQ(units_parse_duration(bad[i], &ns), -EINVAL);
		CHECK_EQ(ns, 42);
	}
	CHECK_EQ(units_parse_duration("9999999999999s", &ns), -ERANGE);
	CHECK_EQ(units_parse_duration("99999999999999999999us", &ns), -ERANGE);
}

TEST(a_bare_number_only_where_allowed)
{
	uint64_t ns;

	CHECK_EQ(units_parse_seconds("2", &ns), 0);
	CHECK_EQ(ns, 2000000000);
	CHECK_EQ(units_parse_seconds("0.25", &ns), 0);
	CHECK_EQ(ns, 250000000);
	CHECK_EQ(units_parse_seconds("3ms", &ns), 0);
	CHECK_EQ(ns, 3000000);
	CHECK_EQ(units_parse_seconds("", &ns), -EINVAL);
}

TEST(sizes)
{
	uint64_t bytes = 0;

	CHECK_EQ(units_parse_size("64M", &bytes), 0);
	CHECK_EQ(bytes, 64 << 20);
	CHECK_EQ(units_parse_size("2G", &bytes), 0);
	CHECK_EQ(bytes, 2ll << 30);
	CHECK_EQ(units_parse_size("1T", &bytes), 0);
	CHECK_EQ(bytes, 1ll << 40);
	CHECK_EQ(units_parse_size("0.5K", &bytes), 0);
	CHECK_EQ(bytes, 512);
	CHECK_EQ(units_parse_size("64m", &bytes), -EINVAL);
	CHECK_EQ(units_parse_size("64", &bytes), -EINVAL);
	CHECK_EQ(units_parse_size("64MB", &bytes), -EINVAL);
	CHECK_EQ(units_parse_size("9000000000G", &bytes), -ERANGE);
}

TEST(durations_for_people)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{1234567, "1.23 ms"},
		{45600000, "45.6 ms"},
		{999999999, "999 ms"},
		{99999999999, "99.9 s"},
		{125000000000, "2 m 05 s"},
		{12000000000000, "3 h 20 m"},
		{-1500, "-1.50 us"},
		{INT64_MIN, "-2562047 h 47 m"},
	};
	char text[UNITS_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_STR(units_format_ns(rows[i].ns, text), rows[i].text);
}

TEST(sizes_for_people)
{
	char text[UNITS_TEXT_BYTES];

	CHECK_STR(units_format_bytes(512, text), "512 B");
	CHECK_STR(units_format_bytes(1536, text), "1.50 K");
	CHECK_STR(units_format_bytes(64 << 20, text), "64.0 M");
	CHECK_STR(units_format_bytes(UINT64_MAX, text), "15.9 E");
}

TEST_MAIN()
