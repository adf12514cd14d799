/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of contexts are joined with received spans of the same ids. */
#include "serve/join.h"

#include <string.h>

#include "tests/unit/check.h"

static const struct received_resource resource = {.service = "shop"};
static const struct received_scope scope = {.name = "", .version = ""};

static const struct attribute given[] = {{.key = "item", .type = VALUE_STRING, .string = "tea"}};
static const struct attribute seen[] = {
	{.key = "thread.id", .type = VALUE_INTEGER, .integer = 12},
	{.key = "fathom.kind", .type = VALUE_STRING, .string = "context"},
	{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 30},
	{.key = "fathom.time.unknown_ns", .type = VALUE_INTEGER, .integer = 10},
	{.key = "fathom.threads", .type = VALUE_INTEGER, .integer = 2}};

static struct received_span span_make(uint64_t id, const struct attribute *list, size_t count)
{
	return (struct received_span){.trace = {1, 2},
				      .span_id = id,
				      .begin_ns = 1000,
				      .end_ns = 1100,
				      .name = "",
				      .resource = &resource,
				      .scope = &scope,
				      .attributes = {.data = list, .count = count}};
}

static int64_t number(const struct received_span *span, const char *key)
{
	for (size_t i = 0; i < span->attributes.count; i++) {
		if (strcmp(span->attributes.data[i].key, key) == 0)
			return span->attributes.data[i].integer;
	}
	return -1;
}

TEST(what_was_added_is_taken_away)
{
	static const struct received_scope own = {.name = "fathom", .version = ""};
	static const struct attribute of_library[] = {
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 3},
		{.key = "item", .type = VALUE_STRING, .string = "tea"},
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 30}};
	static const struct attribute of_request[] = {
		{.key = "bytes.from", .type = VALUE_INTEGER, .integer = 0}};
	struct received_span spans[] = {span_make(7, seen, 4), span_make(7, given, 1),
					span_make(8, of_library, 3), span_make(9, of_request, 1),
					span_make(10, of_request, 1)};
	struct received_batch batch = {spans, 5, 5};
	struct pool pool = {0};

	spans[2].scope = &own;
	spans[3].scope = &own; /* of the last one an application said so */
	CHECK_EQ(spans_strip(&batch, &pool), 0);
	CHECK_EQ(batch.count, 3);
	CHECK_EQ(batch.data[0].span_id, 7);
	CHECK_EQ(batch.data[0].attributes.count, 1);
	CHECK_EQ(batch.data[1].span_id, 8);
	CHECK_EQ(batch.data[1].attributes.count, 1);
	CHECK_STR(batch.data[1].attributes.data[0].string, "tea");
	CHECK_EQ(batch.data[2].span_id, 10);
	pool_free(&pool);
}

TEST(a_received_span_gets_the_split_of_its_context)
{
	struct received_span spans[] = {span_make(7, seen, 4), span_make(7, given, 1),
					span_make(8, given, 1)};
	struct received_batch batch = {spans, 3, 3};
	struct pool pool = {0};

	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 2);
	CHECK_EQ(batch.data[0].span_id, 7);
	CHECK_EQ(number(&batch.data[0], "fathom.time.lock_ns"), 30);
	CHECK_EQ(number(&batch.data[0], "fathom.time.unknown_ns"), 70);
	CHECK_EQ(number(&batch.data[0], "fathom.join"), 0); /* a text */
	CHECK_EQ(number(&batch.data[0], "fathom.kind"), -1);
	CHECK_EQ(number(&batch.data[0], "thread.id"), -1);
	CHECK_STR(batch.data[0].attributes.data[0].string, "tea");
	CHECK_EQ(batch.data[1].attributes.count, 1);
	pool_free(&pool);
}

TEST(the_time_of_several_threads_is_no_duration)
{
	struct received_span spans[] = {span_make(7, given, 1), span_make(7, seen, 5)};
	struct received_batch batch = {spans, 2, 2};
	struct pool pool = {0};

	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 1);
	CHECK_EQ(number(&batch.data[0], "fathom.time.unknown_ns"), 10);
	pool_free(&pool);
}

/* Any program may send a context, with any numbers. */
TEST(no_part_is_less_than_nothing_or_more_than_the_span)
{
	static const struct attribute wrong[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "context"},
		{.key = "fathom.time.user_ns", .type = VALUE_INTEGER, .integer = INT64_MAX},
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = INT64_MAX},
		{.key = "fathom.time.disk_ns", .type = VALUE_INTEGER, .integer = -50},
		{.key = "fathom.time.net_ns", .type = VALUE_STRING, .string = "7"}};
	const struct attribute less[] = {wrong[0], wrong[3], wrong[4]};
	struct received_span spans[] = {span_make(7, given, 1), span_make(7, wrong, 5),
					span_make(8, given, 1), span_make(8, less, 3)};
	struct received_batch batch = {spans, 4, 4};
	struct pool pool = {0};

	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 2);
	CHECK_EQ(number(&batch.data[0], "fathom.time.unknown_ns"), -1); /* there is none */
	CHECK_EQ(number(&batch.data[1], "fathom.time.unknown_ns"), 100);
	pool_free(&pool);
}

/* The request names the span of the application that ran within it. */
TEST(a_span_without_a_parent_gets_its_request)
{
	static const struct attribute to_8[] = {
		{.key = "fathom.child", .type = VALUE_STRING, .string = "0000000000000008"}};
	static const struct attribute to_9[] = {
		{.key = "fathom.child", .type = VALUE_STRING, .string = "0000000000000009"}};
	struct received_span spans[] = {span_make(8, given, 1), span_make(7, to_8, 1),
					span_make(9, given, 1), span_make(6, to_9, 1),
					span_make(5, to_8, 1)};
	struct received_batch batch = {spans, 5, 5};
	struct pool pool = {0};

	spans[2].parent_id = 1; /* its sender says it */
	spans[4].trace.low++;
	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 5);
	CHECK_EQ(batch.data[0].parent_id, 7);
	CHECK_EQ(batch.data[2].parent_id, 1);
	CHECK_EQ(batch.data[1].parent_id, 0);
	pool_free(&pool);
}

/* The calling application names itself as the parent: the request lies between the two. */
TEST(a_span_gets_its_request_that_lies_below_its_parent)
{
	static const struct attribute to_8[] = {
		{.key = "fathom.child", .type = VALUE_STRING, .string = "0000000000000008"}};
	static const struct attribute to_4[] = {
		{.key = "fathom.child", .type = VALUE_STRING, .string = "0000000000000004"}};
	struct received_span spans[] = {span_make(3, given, 1), span_make(6, given, 1),
					span_make(7, to_8, 1),	span_make(8, given, 1),
					span_make(5, to_4, 1),	span_make(4, given, 1)};
	struct received_batch batch = {spans, 6, 6};
	struct pool pool = {0};

	spans[1].parent_id = 3;
	spans[2].parent_id = 6;
	spans[3].parent_id = 3;
	spans[4].parent_id = 5; /* a circle ends */
	spans[5].parent_id = 99;
	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.data[3].parent_id, 7);
	CHECK_EQ(batch.data[5].parent_id, 99);
	pool_free(&pool);
}

TEST(a_context_alone_or_of_two_spans_stays)
{
	struct received_span spans[] = {span_make(7, seen, 4), span_make(8, seen, 4),
					span_make(8, given, 1), span_make(8, given, 1)};
	struct received_batch batch = {spans, 4, 4};
	struct pool pool = {0};

	spans[0].name = "context"; /* its name is not known */
	spans[1].name = "charge";
	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 4);
	CHECK_STR(batch.data[0].name, "0000000000000007");
	CHECK_STR(batch.data[1].name, "charge");
	CHECK_EQ(number(&batch.data[2], "fathom.time.lock_ns"), -1);
	pool_free(&pool);
}

TEST(a_span_that_could_not_be_joined_has_the_reason_and_no_time)
{
	static const struct attribute reason[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "context"},
		{.key = "fathom.join", .type = VALUE_STRING, .string = "ambiguous"}};
	struct received_span spans[] = {span_make(7, given, 1), span_make(7, reason, 2)};
	struct received_batch batch = {spans, 2, 2};
	struct pool pool = {0};

	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 1);
	CHECK_EQ(batch.data[0].attributes.count, 2);
	CHECK_STR(batch.data[0].attributes.data[1].string, "ambiguous");
	pool_free(&pool);
}

TEST(of_two_halves_of_a_call_the_one_that_begins_with_it_is_joined)
{
	struct received_span spans[] = {span_make(7, given, 1), span_make(7, given, 1),
					span_make(7, seen, 4)};
	struct received_batch batch = {spans, 3, 3};
	struct pool pool = {0};

	spans[1].begin_ns = spans[2].begin_ns = 1010;
	CHECK_EQ(spans_join(&batch, &pool), 0);
	CHECK_EQ(batch.count, 2);
	CHECK_EQ(number(&batch.data[0], "fathom.time.lock_ns"), -1);
	CHECK_EQ(number(&batch.data[1], "fathom.time.lock_ns"), 30);
	pool_free(&pool);
}

TEST_MAIN()
