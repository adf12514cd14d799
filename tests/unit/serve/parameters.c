/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/parameters.h"

#include "tests/unit/check.h"

TEST(numbers_are_whole_and_bounded)
{
	uint64_t number = 7;

	CHECK(number_parse("18446744073709551615", UINT64_MAX, &number));
	CHECK_EQ(number, -1);
	CHECK(number_parse("010", 10, &number));
	CHECK_EQ(number, 10);
	CHECK(!number_parse("11", 10, &number));
	CHECK(!number_parse("18446744073709551616", UINT64_MAX, &number));
	CHECK(!number_parse("", 10, &number));
	CHECK(!number_parse("-1", UINT64_MAX, &number));
	CHECK(!number_parse(" 1", 10, &number));
	CHECK(!number_parse("1 ", 10, &number));
	CHECK_EQ(number, 10);
}

TEST(durations_are_those_of_go)
{
	uint64_t ns = 7;

	CHECK(duration_parse("1.5s", &ns));
	CHECK_EQ(ns, 1500000000);
	CHECK(duration_parse("1h1m30s5ms1us1ns", &ns));
	CHECK_EQ(ns, 3690005001001);
	CHECK(duration_parse("1\xc2\xb5s", &ns));
	CHECK_EQ(ns, 1000);
	CHECK(!duration_parse("1", &ns));
	CHECK(!duration_parse("s", &ns));
	CHECK(!duration_parse("-1s", &ns));
	CHECK(!duration_parse("1s2", &ns));
	CHECK(!duration_parse("nans", &ns));
	CHECK(!duration_parse("1000000000h", &ns));
	CHECK_EQ(ns, 1000);
}

TEST(times_are_of_rfc_3339)
{
	uint64_t ns = 7;

	CHECK(time_parse("1970-01-01T00:00:00Z", &ns));
	CHECK_EQ(ns, 0);
	CHECK(time_parse("2026-11-27T01:02:03.000000004Z", &ns));
	CHECK_EQ(ns, 1795741323000000004);
	CHECK(time_parse("2026-11-27T02:02:03.5+01:00", &ns));
	CHECK_EQ(ns, 1795741323500000000);
	CHECK(time_parse("2026-11-26t20:02:03-05:00", &ns));
	CHECK_EQ(ns, 1795741323000000000);
	CHECK(!time_parse("2026-11-27T01:02:03", &ns));
	CHECK(!time_parse("2026-11-27 01:02:03Z", &ns));
	CHECK(!time_parse("2026-11-27T01:02:03.Z", &ns));
	CHECK(!time_parse("2026-13-27T01:02:03Z", &ns));
	CHECK(!time_parse("2026-11-27T24:02:03Z", &ns));
	CHECK(!time_parse("1969-12-31T23:59:59Z", &ns));
	CHECK(!time_parse("1970-01-01T00:00:00+01:00", &ns));
	CHECK(!time_parse("9999-01-01T00:00:00Z", &ns));
	CHECK(!time_parse("2026-11-27T01:02:03Zx", &ns));
	CHECK(!time_parse("", &ns));
	CHECK_EQ(ns, 1795741323000000000);
}

TEST_MAIN()
