/* SPDX-License-Identifier: Apache-2.0 */
#include "store/span_sums.h"

#include "tests/unit/store/spans.h"

#define SECOND UINT64_C(1000000000)

static struct store_sums sums(struct store *s, struct store_sums_query query)
{
	struct store_sums out = {0};
	struct error e = {0};

	query.kind = query.kind ? query.kind : -1;
	if (store_sums(s, &query, &pool, &out, &e))
		CHECK_FAIL("%s", e.text);
	return out;
}

/* Spans of 1 to 100 ms, in commits of 10 spans; every tenth is an error. */
static struct store *open_filled(void)
{
	struct store *s = open_empty();

	for (uint64_t i = 1; i <= 100; i++) {
		struct received_span span = make(i, 1, i % 2 ? "odd" : "even");

		span.end_ns = span.begin_ns + i * 1000000;
		span.status = i % 10 ? RECEIVED_UNSET : RECEIVED_ERROR;
		append(s, &span, 1);
		if (i % 10 == 0)
			commit(s, i);
	}
	return s;
}

static void filled_check(struct store *s)
{
	struct store_sums all = sums(s, (struct store_sums_query){0});
	struct store_sums each = sums(s, (struct store_sums_query){.by = STORE_BY_OPERATION});
	struct store_sums range =
		sums(s, (struct store_sums_query){.from_ns = 12 * SECOND, .to_ns = 30 * SECOND});

	CHECK_EQ(all.count, 1);
	CHECK_EQ(all.data[0].count, 100);
	CHECK_EQ(all.data[0].errors, 10);
	CHECK_EQ(all.data[0].total_ns, UINT64_C(5050000000));
	CHECK_EQ(all.data[0].max_ns, UINT64_C(100000000));
	CHECK_EQ(durations_quantile(&all.data[0].durations, 5000) / 1000000, 50);
	CHECK_EQ(each.count, 2);
	CHECK_STR(each.data[0].operation, "even");
	CHECK_EQ(each.data[0].count, 50);
	CHECK_EQ(each.data[0].errors, 10);
	CHECK_EQ(each.data[1].errors, 0);
	CHECK_EQ(range.count, 1);
	CHECK_EQ(range.data[0].count, 20); /* from 10 s on */
	store_sums_free(&all);
	store_sums_free(&each);
	store_sums_free(&range);
}

TEST(sums_are_the_same_before_and_after_opening_again)
{
	struct store *s = open_filled();

	filled_check(s);
	store_close(s);
	s = reopen();
	filled_check(s);
	commit(s, 200); /* folds */
	filled_check(s);
	drop(s);
}

TEST(what_is_abandoned_is_in_no_sum)
{
	struct store *s = open_filled();
	struct received_span span = make(7, 1, "new");

	append(s, &span, 1);
	store_abandon(s);
	filled_check(s);
	commit(s, 300);
	filled_check(s);
	drop(s);
}

TEST(sums_are_told_apart_as_asked)
{
	struct store *s = open_filled();
	struct received_span span = make(1, 2, "odd");
	struct store_sums out;

	span.kind = RECEIVED_CLIENT;
	append(s, &span, 1);
	commit(s, 101);
	out = sums(s, (struct store_sums_query){.by = STORE_BY_KIND | STORE_BY_ERROR});
	CHECK_EQ(out.count, 3);
	CHECK_EQ(out.data[0].kind, RECEIVED_SERVER);
	CHECK_EQ(out.data[1].is_error, true);
	CHECK_EQ(out.data[1].count, 10);
	CHECK_EQ(out.data[2].kind, RECEIVED_CLIENT);
	store_sums_free(&out);
	out = sums(s, (struct store_sums_query){.by = STORE_BY_TIME, .step_ns = 50 * SECOND});
	CHECK_EQ(out.count, 3);
	CHECK_EQ(out.data[1].begin_ns, 50 * SECOND);
	CHECK_EQ(out.data[1].count, 50);
	store_sums_free(&out);
	out = sums(s, (struct store_sums_query){.kind = RECEIVED_CLIENT, .service = "shop"});
	CHECK_EQ(out.count, 1);
	CHECK_EQ(out.data[0].count, 1);
	store_sums_free(&out);
	out = sums(s, (struct store_sums_query){.service = "none"});
	CHECK_EQ(out.count, 0);
	store_sums_free(&out);
	drop(s);
}

TEST(parts_of_the_split_have_sums)
{
	struct attribute time[] = {
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 4000000},
		{.key = "fathom.time.user_ns", .type = VALUE_INTEGER, .integer = 6000000}};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(1, 2, "a"), make(1, 3, "a")};
	struct store_sums out;

	spans[0].attributes = (struct received_list){time, 2, 0};
	spans[1].attributes = (struct received_list){time + 1, 1, 0};
	append(s, spans, 3);
	commit(s, 1);
	out = sums(s, (struct store_sums_query){.has_parts = true});
	CHECK_EQ(out.count, 1);
	CHECK_EQ(out.data[0].count, 3);
	CHECK_EQ(out.data[0].measured, 2);
	CHECK_EQ(out.data[0].time.ns[SPLIT_lock], 4000000);
	CHECK_EQ(out.data[0].time.ns[SPLIT_user], 12000000);
	CHECK_EQ(durations_below(&out.data[0].parts[SPLIT_lock], UINT64_MAX), 1);
	CHECK_EQ(durations_below(&out.data[0].parts[SPLIT_user], UINT64_MAX), 2);
	CHECK_EQ(durations_quantile(&out.data[0].parts[SPLIT_user], 5000) / 100000, 60);
	store_sums_free(&out);
	drop(s);
}

static void stood_for_check(struct store *s, const struct received_span *span)
{
	struct store_sums out = sums(s, (struct store_sums_query){.has_parts = true});

	CHECK_EQ(out.count, 1);
	CHECK_EQ(out.data[0].count, 33);
	CHECK_EQ(out.data[0].seen, 1);
	CHECK_EQ(out.data[0].measured, 33);
	CHECK_EQ(out.data[0].measured_seen, 1);
	CHECK_EQ(out.data[0].total_ns, 33 * received_duration_ns(span));
	CHECK_EQ(out.data[0].time.ns[SPLIT_lock], 33 * 4000000);
	CHECK_EQ(durations_below(&out.data[0].durations, UINT64_MAX), 33);
	store_sums_free(&out);
}

/* Also where a new version takes the place of an old one. */
TEST(a_span_that_stands_for_others_counts_for_them)
{
	struct attribute attributes[] = {
		{.key = "fathom.stands_for", .type = VALUE_INTEGER, .integer = 33},
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 4000000},
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 1}};
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "a");

	span.attributes = (struct received_list){attributes, 3, 0};
	for (uint64_t version = 1; version <= 2; version++) {
		attributes[2].integer = (int64_t)version;
		append(s, &span, 1);
		commit(s, version);
	}
	stood_for_check(s, &span);
	store_close(s);
	s = reopen();
	commit(s, 3); /* folds */
	stood_for_check(s, &span);
	drop(s);
}

TEST(times_of_any_size_have_sums)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(1, 2, "a")};
	struct store_sums out;

	spans[0].begin_ns = 0;
	spans[0].end_ns = UINT64_MAX;
	spans[1].begin_ns = UINT64_MAX;
	append(s, spans, 2);
	commit(s, 1);
	out = sums(s,
		   (struct store_sums_query){.by = STORE_BY_TIME, .step_ns = STORE_SUMS_STEP_NS});
	CHECK_EQ(out.count, 2);
	CHECK_EQ(out.data[0].max_ns, UINT64_MAX);
	CHECK_EQ(out.data[1].max_ns, 0);
	store_sums_free(&out);
	drop(s);
}

TEST_MAIN()
