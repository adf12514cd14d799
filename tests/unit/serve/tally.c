/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tally.h"

#include "tests/unit/check.h"

static const struct received_scope scope = {.name = "", .version = ""};

/* Tells the tally of a span, which is not settled. */
static void add_span(struct tally *t, uint8_t fate, struct received_span *span)
{
	const struct received_batch batch = {span, 1, 1};
	const struct span_watch watch = tally_watch(t);

	watch.appended(watch.arg, &batch, &fate);
}

static void add_as(struct tally *t, uint8_t fate, const char *service, const char *name,
		   uint64_t duration_ns)
{
	static const struct attribute times[] = {
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 7},
		{.key = "fathom.time.lock", .type = VALUE_INTEGER, .integer = 100},
		{.key = "fathom.time.off_thread_ns", .type = VALUE_INTEGER, .integer = 8},
		{.key = "fathom.time.user_ns", .type = VALUE_STRING, .string = "9"}};
	const struct received_resource resource = {service, {NULL, 0, 0}};
	struct received_span span = {.trace = {1, 2},
				     .span_id = 3,
				     .begin_ns = 1000,
				     .end_ns = 1000 + duration_ns,
				     .name = name,
				     .trace_state = "",
				     .status_text = "",
				     .kind = RECEIVED_SERVER,
				     .status = duration_ns ? RECEIVED_OK : RECEIVED_ERROR,
				     .resource = &resource,
				     .scope = &scope,
				     .attributes = {times, 4, 0}};

	add_span(t, fate, &span);
}

static void add(struct tally *t, const char *service, const char *name, uint64_t duration_ns)
{
	add_as(t, STORE_ADDED, service, name, duration_ns);
}

static void settle(struct tally *t, bool is_stored)
{
	const struct span_watch watch = tally_watch(t);

	watch.settled(watch.arg, is_stored);
}

TEST(what_is_stored_counts)
{
	struct tally *t = tally_open();
	tally_list list = {0};
	const struct tally_sums *sums;

	add(t, "shop", "buy", 100000);
	add(t, "shop", "buy", 100001);
	add(t, "shop", "buy", 20000000000);
	add(t, "bank", "pay", 0);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.count, 0);
	settle(t, true);
	settle(t, true);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.count, 2);
	CHECK_STR(list.data[0].service, "bank");
	CHECK_EQ(list.data[0].sums.errors, 1);
	CHECK_STR(list.data[1].name, "buy");
	CHECK_EQ(list.data[1].kind, RECEIVED_SERVER);
	sums = &list.data[1].sums;
	CHECK_EQ(sums->spans, 3);
	CHECK_EQ(sums->errors, 0);
	CHECK_EQ(sums->duration_ns, 20000200001);
	CHECK_EQ(sums->buckets[0], 1);
	CHECK_EQ(sums->buckets[1], 1);
	CHECK_EQ(sums->buckets[TALLY_BOUNDS], 1);
	CHECK_EQ(sums->splits, 3);
	CHECK_EQ(sums->time_ns[SPLIT_lock], 21);
	CHECK_EQ(sums->time_ns[SPLIT_off_thread], 24);
	CHECK_EQ(sums->time_ns[SPLIT_user], 0);
	vec_free(&list);
	tally_close(t);
}

TEST(what_was_taken_back_does_not_count)
{
	struct tally *t = tally_open();
	tally_list list = {0};

	add(t, "shop", "buy", 1);
	settle(t, false);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.count, 0);
	add(t, "shop", "buy", 1);
	settle(t, true);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.data[0].sums.spans, 1);
	vec_free(&list);
	tally_close(t);
}

TEST(a_span_counts_once)
{
	struct tally *t = tally_open();
	tally_list list = {0};

	add(t, "shop", "buy", 1);
	add_as(t, STORE_REPEATS, "shop", "buy", 1);
	add_as(t, STORE_REPLACES, "shop", "buy", 2);
	add_as(t, STORE_FOLLOWS, "shop", "buy", 3);
	settle(t, true);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.data[0].sums.spans, 1);
	CHECK_EQ(list.data[0].sums.duration_ns, 1);
	CHECK_EQ(list.data[0].sums.time_ns[SPLIT_lock], 14);
	vec_free(&list);
	tally_close(t);
}

TEST(a_span_that_stands_for_others_counts_for_them)
{
	static const struct attribute attributes[] = {
		{.key = "fathom.stands_for", .type = VALUE_INTEGER, .integer = 33},
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 7}};
	const struct received_resource resource = {"shop", {NULL, 0, 0}};
	struct received_span span = {.end_ns = 5,
				     .name = "buy",
				     .status = RECEIVED_ERROR,
				     .resource = &resource,
				     .attributes = {attributes, 2, 0}};
	struct tally *t = tally_open();
	tally_list list = {0};

	add_span(t, STORE_ADDED, &span);
	settle(t, true);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.data[0].sums.spans, 33);
	CHECK_EQ(list.data[0].sums.errors, 33);
	CHECK_EQ(list.data[0].sums.buckets[0], 33);
	CHECK_EQ(list.data[0].sums.duration_ns, 33 * 5);
	CHECK_EQ(list.data[0].sums.splits, 33);
	CHECK_EQ(list.data[0].sums.time_ns[SPLIT_lock], 33 * 7);
	vec_free(&list);
	tally_close(t);
}

TEST(many_operations_are_one)
{
	struct tally *t = tally_open();
	tally_list list = {0};
	char name[400];
	uint64_t spans = 0, others = 0;

	for (unsigned int i = 0; i < 2 * TALLY_OPERATIONS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		add(t, TALLY_OTHER, name, 1);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add(t, "shop", name, 1);
	settle(t, true);
	CHECK_EQ(tally_read(t, &list), 0);
	CHECK_EQ(list.count, TALLY_OPERATIONS_MAX + 1);
	for (size_t i = 0; i < list.count; i++) {
		spans += list.data[i].sums.spans;
		if (strcmp(list.data[i].name, TALLY_OTHER) == 0)
			others += list.data[i].sums.spans;
	}
	CHECK_EQ(spans, 2 * TALLY_OPERATIONS_MAX + 1);
	CHECK_EQ(others, TALLY_OPERATIONS_MAX + 1);
	vec_free(&list);
	tally_close(t);
}

TEST_MAIN()
