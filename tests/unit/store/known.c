/* SPDX-License-Identifier: Apache-2.0 */
#include "store/internal.h"

#include "tests/unit/store/spans.h"

static struct received_span versioned(uint64_t trace, int64_t version, uint64_t took_ms,
				      struct attribute *attribute)
{
	struct received_span span = make(trace, 1, "a");

	*attribute = (struct attribute){
		.key = "fathom.version", .type = VALUE_INTEGER, .integer = version};
	span.attributes = (struct received_list){attribute, 1, 0};
	span.end_ns = span.begin_ns + took_ms * 1000000;
	return span;
}

static void sums_are(struct store *s, uint64_t count, uint64_t total_ms, uint64_t median_ms)
{
	struct store_sums sums = {0};

	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, NULL), 0);
	CHECK_EQ(sums.count, 1);
	CHECK_EQ(sums.data[0].count, count);
	CHECK_EQ(sums.data[0].total_ns, total_ms * 1000000);
	CHECK_EQ(durations_quantile(&sums.data[0].durations, 5000) / 1000000, median_ms);
	store_sums_free(&sums);
}

static struct store_counts counts(struct store *s)
{
	struct store_counts counts;

	CHECK_EQ(store_count(s, &counts, NULL), 0);
	return counts;
}

TEST(a_repeat_is_not_stored)
{
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "a");

	append(s, &span, 1);
	append(s, &span, 1); /* in the same transaction */
	commit(s, 1);
	append(s, &span, 1);
	commit(s, 2);
	store_close(s);
	s = reopen();
	CHECK_EQ(s->known.spans.capacity, 0);
	append(s, &span, 1);
	commit(s, 3);
	CHECK_EQ(counts(s).spans, 1);
	CHECK_EQ(counts(s).repeats, 1); /* since opening */
	sums_are(s, 1, 10, 10);
	drop(s);
}

TEST(what_was_abandoned_is_no_repeat)
{
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "a");

	append(s, &span, 1);
	store_abandon(s);
	append(s, &span, 1);
	commit(s, 1);
	CHECK_EQ(counts(s).spans, 1);
	CHECK_EQ(counts(s).repeats, 0);
	drop(s);
}

static void version_append(struct store *s, int64_t version, uint64_t took_ms)
{
	struct attribute attribute;
	struct received_span span = versioned(1, version, took_ms, &attribute);

	append(s, &span, 1);
}

static void version_is(struct store *s, int64_t version)
{
	struct received_batch batch = find(s, (struct trace_id){1, 1});

	CHECK_EQ(batch.count, 1);
	CHECK_EQ(batch.data[0].attributes.data[0].integer, version);
	vec_free(&batch);
}

TEST(the_highest_version_is_shown_and_counted)
{
	struct store *s = open_empty();

	version_append(s, 2, 10);
	version_append(s, 3, 30); /* in the same transaction */
	commit(s, 1);
	sums_are(s, 1, 30, 30);
	version_append(s, 1, 5); /* too late */
	commit(s, 2);
	version_is(s, 3);
	sums_are(s, 1, 30, 30);
	store_close(s);
	s = reopen();
	version_append(s, 4, 50);
	commit(s, 3);
	version_append(s, 4, 50);
	commit(s, 4);
	version_is(s, 4);
	sums_are(s, 1, 50, 50);
	CHECK_EQ(counts(s).replaced, 1);
	CHECK_EQ(counts(s).repeats, 1);
	drop(s);
}

static size_t longer_count(struct store *s, uint64_t than_ms)
{
	const struct store_query query = {
		.kind = -1, .limit = 10, .duration_from_ns = than_ms * 1000000};
	struct store_ids ids = {0};
	size_t count;

	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	count = ids.count;
	vec_free(&ids);
	return count;
}

TEST(a_version_that_was_replaced_is_not_found)
{
	struct store *s = open_empty();
	struct received_span received = make(1, 1, "a"); /* beside the versions, with their ids */

	version_append(s, 1, 100);
	commit(s, 1);
	CHECK_EQ(longer_count(s, 50), 1);
	version_append(s, 2, 10);
	commit(s, 2);
	CHECK_EQ(longer_count(s, 50), 0);
	CHECK_EQ(longer_count(s, 10), 1);
	received.end_ns += 200000000;
	append(s, &received, 1);
	commit(s, 3);
	CHECK_EQ(longer_count(s, 50), 1);
	drop(s);
}

TEST(a_version_that_was_abandoned_replaces_nothing)
{
	struct store *s = open_empty();

	version_append(s, 1, 10);
	commit(s, 1);
	version_append(s, 2, 20);
	store_abandon(s);
	sums_are(s, 1, 10, 10);
	version_append(s, 2, 20);
	commit(s, 2);
	sums_are(s, 1, 20, 20);
	version_is(s, 2);
	drop(s);
}

static void edge_is(struct store *s, const char *parent, const char *child, uint64_t count)
{
	struct store_sums edges = {0};

	CHECK_EQ(store_edges(s, &(struct store_range){0}, &pool, &edges, NULL), 0);
	CHECK_EQ(edges.count, 1);
	CHECK_STR(edges.data[0].service, parent);
	CHECK_STR(edges.data[0].operation, child);
	CHECK_EQ(edges.data[0].count, count);
	store_sums_free(&edges);
}

/* Bank's span is called by span 1 of shop. */
static struct received_span called(uint64_t trace)
{
	static const struct received_resource bank = {.service = "bank"};
	struct received_span span = make(trace, 2, "pay");

	span.parent_id = 1;
	span.resource = &bank;
	return span;
}

TEST(calls_are_found_in_any_order)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), called(1), called(2), make(2, 1, "a"),
					make(3, 1, "a"), called(3), called(4), make(4, 1, "a")};
	struct store_operations list = {0};

	append(s, spans, 2); /* the parent first, in one transaction */
	append(s, spans + 2, 2);
	commit(s, 1);
	edge_is(s, "shop", "bank", 2);
	append(s, spans + 4, 1);
	commit(s, 2);
	append(s, spans + 5, 1);
	commit(s, 3);
	append(s, spans + 6, 1);
	commit(s, 4);
	edge_is(s, "shop", "bank", 3);
	append(s, spans + 7, 1);
	commit(s, 5);
	edge_is(s, "shop", "bank", 4);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2); /* a call is no operation */
	vec_free(&list);
	drop(s);
}

TEST(the_halves_of_a_shared_span_are_a_call)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 2, "a"), called(1)};

	spans[1].shared = true;
	spans[1].parent_id = 0;
	append(s, spans, 2);
	commit(s, 1);
	edge_is(s, "shop", "bank", 1);
	drop(s);
}

/* A span for which another one stands: it is found with its trace, and is no operation. */
static void counted_append(struct store *s, uint64_t trace, size_t attributes_count)
{
	static const struct attribute attributes[] = {
		{.key = "fathom.counted_as", .type = VALUE_STRING, .string = "0000000000000001"},
		{.key = "fathom.call_counted_as",
		 .type = VALUE_STRING,
		 .string = "0000000000000001"}};
	static const struct received_resource called = {.service = "called"};
	struct received_span span = make(trace, 2, "called:80");

	span.parent_id = 1;
	span.kind = RECEIVED_SERVER;
	span.resource = &called;
	span.attributes = (struct received_list){attributes, attributes_count, 0};
	append(s, &span, 1);
	CHECK_EQ(store_fates(s)[0], STORE_COUNTED);
}

/* All calls; adds how many of them were seen. */
static size_t calls_count(struct store *s, size_t *seen)
{
	struct store_sums edges = {0};
	size_t calls = 0;

	CHECK_EQ(store_edges(s, &(struct store_range){0}, &pool, &edges, NULL), 0);
	for (size_t i = 0; i < edges.count; i++) {
		calls += edges.data[i].count;
		*seen += edges.data[i].seen;
	}
	store_sums_free(&edges);
	return calls;
}

static size_t calls_of(struct store *s)
{
	size_t seen = 0;

	return calls_count(s, &seen);
}

TEST(a_span_for_which_another_stands_is_counted_as_a_call_alone)
{
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "a");
	struct store_operations list = {0};

	append(s, &span, 1);
	counted_append(s, 1, 1);
	commit(s, 1);
	sums_are(s, 1, 10, 10);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 1);
	CHECK_EQ(counts(s).spans, 2);
	CHECK_EQ(calls_of(s), 1);
	vec_free(&list);
	drop(s);
	s = open_empty();
	append(s, &span, 1);
	counted_append(s, 1, 2);
	commit(s, 1);
	CHECK_EQ(calls_of(s), 0);
	drop(s);
}

TEST(a_call_that_stands_for_others_counts_for_them)
{
	static const struct received_resource called = {.service = "called"};
	static const struct attribute stands_for = {
		.key = "fathom.stands_for", .type = VALUE_INTEGER, .integer = 33};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(1, 2, "called:80")};
	size_t seen = 0;

	spans[1].parent_id = 1;
	spans[1].kind = RECEIVED_SERVER;
	spans[1].resource = &called;
	spans[1].attributes = (struct received_list){&stands_for, 1, 0};
	append(s, spans, 2);
	commit(s, 1);
	CHECK_EQ(calls_count(s, &seen), 33);
	CHECK_EQ(seen, 1);
	drop(s);
}

/* Of span 1 of shop, a span that was received, only the context was seen, too. */
static struct received_span context_of(uint64_t trace, int64_t version,
				       struct attribute attributes[3])
{
	static const struct received_resource worker = {.service = "worker"};
	struct received_span span = make(trace, 1, "context");

	attributes[0] = (struct attribute){
		.key = "fathom.version", .type = VALUE_INTEGER, .integer = version};
	attributes[1] =
		(struct attribute){.key = "fathom.kind", .type = VALUE_STRING, .string = "context"};
	attributes[2] = (struct attribute){
		.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 5};
	span.kind = RECEIVED_INTERNAL;
	span.attributes = (struct received_list){attributes, 3, 0};
	span.resource = &worker;
	return span;
}

static void context_append(struct store *s, uint64_t trace, int64_t version, enum store_fate fate)
{
	struct attribute attributes[3];
	struct received_span context = context_of(trace, version, attributes);

	append(s, &context, 1);
	CHECK_EQ(store_fates(s)[0], fate);
}

static void contexts_check(struct store *s)
{
	struct store_operations list = {0};
	struct store_sums sums = {0};

	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, NULL), 0);
	CHECK_EQ(sums.data[0].measured, 2);
	CHECK_EQ(sums.data[0].time.ns[SPLIT_lock], 10);
	CHECK_EQ(sums.data[0].time.ns[SPLIT_unknown], 2 * (10000000 - 5));
	store_sums_free(&sums);
	sums_are(s, 4, 40, 10);
	edge_is(s, "shop", "bank", 2);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2);
	vec_free(&list);
	CHECK_EQ(found(s, 1), 3);
	CHECK_EQ(found(s, 2), 3);
}

TEST(a_context_is_no_span_of_its_own)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), called(1), make(2, 1, "a"), called(2)};

	context_append(s, 1, 1, STORE_CONTEXT); /* before the span, and behind it */
	append(s, spans, 4);
	CHECK_EQ(store_fates(s)[0], STORE_ADDED);
	commit(s, 1);
	context_append(s, 2, 1, STORE_CONTEXT);
	context_append(s, 2, 2, STORE_CONTEXT);
	context_append(s, 2, 1, STORE_REPEATS);
	commit(s, 2);
	contexts_check(s);
	store_close(s);
	s = reopen();
	context_append(s, 2, 2, STORE_REPEATS);
	commit(s, 3);
	contexts_check(s);
	drop(s);
}

static size_t searched(struct store *s, const struct store_query *query)
{
	struct store_ids ids = {0};
	size_t count;

	CHECK_EQ(store_search(s, query, &ids, NULL), 0);
	count = ids.count;
	vec_free(&ids);
	return count;
}

/* Trace 1 has a received span, too; of trace 2 only contexts are known. */
TEST(contexts_alone_are_no_requests_but_tell_of_causes)
{
	const struct store_cause waited = {.part = SPLIT_lock, .from_ns = 5};
	const struct attribute version = {
		.key = "fathom.version", .type = VALUE_STRING, .string = "1"};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(3, 1, "context")};

	append(s, spans, 2); /* an operation that has the name, too */
	context_append(s, 1, 1, STORE_CONTEXT);
	context_append(s, 2, 1, STORE_CONTEXT);
	commit(s, 1);
	CHECK_EQ(searched(s, &(struct store_query){.kind = -1, .limit = 9}), 2);
	CHECK_EQ(searched(s, &(struct store_query){.kind = -1, .limit = 9, .is_loose = true}), 2);
	CHECK_EQ(searched(s, &(struct store_query){.kind = -1, .limit = 9, .service = "worker"}),
		 0);
	CHECK_EQ(searched(s,
			  &(struct store_query){
				  .kind = -1, .limit = 9, .causes = &waited, .causes_count = 1}),
		 2);
	CHECK_EQ(searched(s,
			  &(struct store_query){
				  .kind = -1, .limit = 9, .tags = &version, .tags_count = 1}),
		 2);
	CHECK_EQ(searched(s, &(struct store_query){.kind = -1,
						   .limit = 9,
						   .sort = STORE_SORT_PART,
						   .sort_part = SPLIT_lock}),
		 3);
	CHECK_EQ(searched(s, &(struct store_query){.kind = -1, .limit = 9, .operation = "context"}),
		 3);
	drop(s);
}

/* Both sides of a call may have one id: nobody knows whose the context is. */
TEST(a_context_of_several_spans_is_of_none)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(1, 1, "a")};
	struct store_sums sums = {0};

	context_append(s, 1, 1, STORE_CONTEXT);
	spans[1].kind = RECEIVED_CLIENT;
	append(s, spans, 2);
	commit(s, 1);
	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, NULL), 0);
	CHECK_EQ(sums.data[0].count, 2);
	CHECK_EQ(sums.data[0].measured, 0);
	CHECK_EQ(sums.data[0].time.ns[SPLIT_lock], 0);
	store_sums_free(&sums);
	drop(s);
}

/* Many more ids than a set begins with. */
TEST(many_spans_are_told_apart)
{
	struct store *s = open_empty();
	const uint64_t count = 20000;

	for (uint64_t round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < count; i++) {
			struct received_span span = make(i, i + 1, "a");

			append(s, &span, 1);
			if (i % 7000 == 0)
				commit(s, round * count + i);
		}
		commit(s, (round + 1) * count);
	}
	CHECK_EQ(counts(s).spans, count);
	CHECK_EQ(counts(s).repeats, count);
	drop(s);
}

TEST_MAIN()
