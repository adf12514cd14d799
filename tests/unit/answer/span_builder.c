/* SPDX-License-Identifier: Apache-2.0 */
/* The builder owns all that a span points to, until the next span is begun. */
#include "answer/span_builder.h"

#include <string.h>

#include "tests/unit/check.h"

static struct span_attribute given(const char *text, u8 key_bytes, u8 type, u64 value)
{
	return (struct span_attribute){.text = (char *)text,
				       .text_bytes = (u16)strlen(text),
				       .key_bytes = key_bytes,
				       .type = type,
				       .value = value};
}

TEST(a_key_that_is_given_again_replaces_the_value)
{
	const struct span_attribute first = given("keyone", 3, ATTRIBUTE_string, 0);
	const struct span_attribute other = given("k", 1, ATTRIBUTE_boolean, 1);
	const struct span_attribute again = given("keytwo", 3, ATTRIBUTE_string, 0);
	struct span_builder b = {0};

	builder_given(&b, &first);
	builder_given(&b, &other);
	builder_given(&b, &again);
	CHECK_EQ(b.current.count, 2);
	CHECK_STR(b.current.data[0].key, "key");
	CHECK_STR(b.current.data[0].string, "two");
	CHECK_EQ(b.current.data[1].type, VALUE_BOOLEAN);
	CHECK(builder_has(&b, "k") && builder_has(&b, "key") && !builder_has(&b, "ke"));
	builder_free(&b);
}

TEST(values_keep_their_type)
{
	const double half = 0.5;
	u64 bits;
	struct span_builder b = {0};
	struct span_attribute a;

	memcpy(&bits, &half, sizeof(bits));
	a = given("r", 1, ATTRIBUTE_real, bits);
	builder_given(&b, &a);
	a = given("i", 1, ATTRIBUTE_integer, (u64)-3);
	builder_given(&b, &a);
	CHECK_EQ(b.current.data[0].type, VALUE_REAL);
	CHECK(b.current.data[0].real == half);
	CHECK_EQ(b.current.data[1].type, VALUE_INTEGER);
	CHECK_EQ(b.current.data[1].integer, -3);
	builder_free(&b);
}

TEST(an_event_takes_the_attributes_collected_so_far)
{
	const struct attribute *event;
	struct span_builder b = {0};
	size_t count;

	CHECK(!builder_take(&b, &count) && count == 0);
	builder_integer(&b, "a", 1);
	builder_string(&b, "b", builder_text(&b, "%d-%s", 7, "x"));
	event = builder_take(&b, &count);
	CHECK_EQ(count, 2);
	CHECK_EQ(b.current.count, 0);
	for (int i = 0; i < 100; i++) /* the array of the event does not move */
		builder_boolean(&b, "c", true);
	CHECK_STR(event[0].key, "a");
	CHECK_STR(event[1].string, "7-x");
	CHECK(!b.failed);
	builder_free(&b);
}

TEST(the_next_span_begins_with_nothing_but_its_host)
{
	struct span_builder b = {.host = "here"};

	builder_string(&b, "a", builder_copy(&b, "x"));
	b.span.tid = 7;
	builder_reset(&b);
	CHECK_EQ(b.current.count, 0);
	CHECK_EQ(b.span.tid, 0);
	CHECK_STR(b.span.host, "here");
	builder_free(&b);
}

TEST_MAIN()
