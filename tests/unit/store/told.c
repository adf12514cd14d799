/* SPDX-License-Identifier: Apache-2.0 */
#include "store/told.h"

#include "tests/unit/check.h"

static struct told told(const struct attribute *attributes, size_t count)
{
	const struct received_span span = {.attributes = {attributes, count, 0}};

	return told_of(&span);
}

TEST(parts_and_version_are_read)
{
	static const struct attribute all[] = {
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 5},
		{.key = "fathom.time.off_thread_ns", .type = VALUE_INTEGER, .integer = 7},
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 3}};
	struct told t = told(all, 3);

	CHECK(t.measured);
	CHECK_EQ(t.version, 3);
	CHECK_EQ(t.time.ns[SPLIT_lock], 5);
	CHECK_EQ(t.time.ns[SPLIT_off_thread], 7);
	CHECK_EQ(t.time.ns[SPLIT_disk], 0);
}

TEST(what_resembles_them_is_not_read)
{
	static const struct attribute all[] = {
		{.key = "fathom.time.lock_ns", .type = VALUE_STRING, .string = "5"},
		{.key = "fathom.time.lock", .type = VALUE_INTEGER, .integer = 5},
		{.key = "fathom.time.locks_ns", .type = VALUE_INTEGER, .integer = 5},
		{.key = "fathom.time._ns", .type = VALUE_INTEGER, .integer = 5},
		{.key = "fathom.time.disk_ns", .type = VALUE_INTEGER, .integer = -5},
		{.key = "time.lock_ns", .type = VALUE_INTEGER, .integer = 5},
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = -1}};
	struct told t = told(all, 7);

	CHECK(!t.measured);
	CHECK_EQ(t.version, 0);
	CHECK_EQ(split_total(&t.time), 0);
}

TEST(kernel_spans_are_told_from_contexts)
{
	static const struct attribute wait[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "wait"}};
	static const struct attribute context[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "context"}};
	static const struct attribute number[] = {
		{.key = "fathom.kind", .type = VALUE_INTEGER, .integer = 1}};

	CHECK(told(wait, 1).kernel);
	CHECK(!told(context, 1).kernel);
	CHECK(!told(number, 1).kernel);
	CHECK(!told(NULL, 0).kernel);
}

TEST_MAIN()
