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

TEST(ids_are_hex_digits)
{
	static const uint8_t none[16];
	const uint8_t trace[16] = {0x0a, 0xff, [15] = 0x10};
	char trace_id[TRACE_ID_BYTES], span_id[SPAN_ID_BYTES];

	trace_id_format(trace_id, trace);
	CHECK_STR(trace_id, "0aff0000000000000000000000000010");
	trace_id_format(trace_id, none);
	CHECK_STR(trace_id, "");
	span_id_format(span_id, 0xf067aa0ba902b7);
	CHECK_STR(span_id, "00f067aa0ba902b7");
}

TEST_MAIN()
