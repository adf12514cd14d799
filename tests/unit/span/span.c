/* SPDX-License-Identifier: Apache-2.0 */
#include "span/span.h"

#include "tests/unit/check.h"

TEST(an_attribute_is_found_by_its_whole_key)
{
	static const struct attribute attributes[] = {
		{.key = "fd.name", .type = VALUE_STRING, .string = "pipe"},
		{.key = "fd", .type = VALUE_INTEGER, .integer = 3},
	};
	const struct span span = {.attributes = attributes, .attributes_count = 2};

	CHECK(span_attribute_find(&span, "fd") == &attributes[1]);
	CHECK(span_attribute_find(&span, "fd.name") == &attributes[0]);
	CHECK(!span_attribute_find(&span, "fd.names"));
	CHECK(!span_attribute_find(&span, ""));
}

TEST(a_level_out_of_range_has_the_nearest_name)
{
	CHECK_STR(level_name(-2), "emergency");
	CHECK_STR(level_name(0), "emergency");
	CHECK_STR(level_name(4), "warning");
	CHECK_STR(level_name(7), "debug");
	CHECK_STR(level_name(1000), "debug");
}

TEST_MAIN()
