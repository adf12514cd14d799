/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel spans lie in a table of their own, and are in no list and in no sum. */
#include "store/store.h"

#include "store/database.h"
#include "tests/unit/store/spans.h"

#define CHILDREN 3

static const struct attribute first[] = {
	{.key = "fathom.kind", .type = VALUE_STRING, .string = "wait"},
	{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 1}};
static const struct attribute second[] = {
	{.key = "fathom.kind", .type = VALUE_STRING, .string = "wait"},
	{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 2}};

static struct received_span wait_make(uint64_t trace, uint64_t id, const struct attribute *given)
{
	struct received_span span = make(trace, id, "lock");

	span.parent_id = 1;
	span.kind = RECEIVED_INTERNAL;
	span.attributes = (struct received_list){given, 2, 0};
	return span;
}

/* A span, and waits in it. */
static void family_append(struct store *s, uint64_t trace, const struct attribute *given)
{
	struct received_span spans[1 + CHILDREN];

	spans[0] = make(trace, 1, "request");
	for (uint64_t i = 1; i <= CHILDREN; i++)
		spans[i] = wait_make(trace, 1 + i, given);
	append(s, spans, 1 + CHILDREN);
}

static struct received_batch kernel_find(struct store *s, uint64_t trace)
{
	struct trace_id id = {1, trace};
	struct received_batch batch = {0};
	struct error e = {0};

	if (store_find_kernel(s, &(struct store_ids){&id, 1, 1}, &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	return batch;
}

TEST(kernel_spans_are_found_apart)
{
	struct store *s = open_empty();
	struct received_batch batch;

	family_append(s, 7, first);
	CHECK_EQ(store_fates(s)[0], STORE_ADDED);
	CHECK_EQ(store_fates(s)[1], STORE_KERNEL);
	commit(s, 100);
	CHECK_EQ(found(s, 7), 1);
	batch = kernel_find(s, 7);
	CHECK_EQ(batch.count, CHILDREN);
	CHECK_STR(batch.data[0].name, "lock");
	CHECK_EQ(batch.data[0].parent_id, 1);
	CHECK_STR(batch.data[0].resource->service, "shop");
	CHECK_EQ(batch.data[0].attributes.count, 2);
	vec_free(&batch);
	batch = kernel_find(s, 8);
	CHECK_EQ(batch.count, 0);
	vec_free(&batch);
	drop(s);
}

TEST(lists_sums_searches_and_counts_have_none)
{
	struct store *s = open_empty();
	struct store_query query = {.kind = -1, .operation = "lock", .limit = 10};
	struct store_operations list = {0};
	struct store_counts counts;
	struct store_sums sums = {0};
	struct store_ids ids = {0};

	family_append(s, 7, first);
	commit(s, 100);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 1);
	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, NULL), 0);
	CHECK_EQ(sums.count, 1);
	CHECK_EQ(sums.data[0].count, 1);
	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	CHECK_EQ(ids.count, 0);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK_EQ(counts.spans, 1);
	CHECK_EQ(counts.kernel_spans, CHILDREN);
	CHECK_EQ(counts.repeats, 0);
	store_sums_free(&sums);
	vec_free(&list);
	vec_free(&ids);
	drop(s);
}

TEST(a_higher_version_replaces_a_kernel_span)
{
	struct store *s = open_empty();
	struct received_batch batch;

	family_append(s, 7, first);
	commit(s, 100);
	family_append(s, 7, second);
	commit(s, 200);
	batch = kernel_find(s, 7);
	CHECK_EQ(batch.count, CHILDREN);
	CHECK_EQ(batch.data[0].attributes.data[1].integer, 2);
	vec_free(&batch);
	drop(s);
}

TEST(what_was_taken_back_is_not_there)
{
	struct store *s = open_empty();
	struct received_batch batch;
	struct store_counts counts;

	family_append(s, 7, first);
	store_abandon(s);
	family_append(s, 8, first);
	commit(s, 100);
	batch = kernel_find(s, 7);
	CHECK_EQ(batch.count, 0);
	vec_free(&batch);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK_EQ(counts.kernel_spans, CHILDREN);
	drop(s);
}

struct told_spans {
	size_t count;
	uint64_t total_ns;
	bool known; /* all have name and service, and of their attributes what tells of threads */
};

static int told_take(void *arg, const struct received_span *span)
{
	struct told_spans *told = arg;

	told->count++;
	told->total_ns += received_duration_ns(span);
	told->known &= strcmp(span->name, "lock") == 0 && span->attributes.count == 1 &&
		       strcmp(span->resource->service, "shop") == 0;
	return 0;
}

/* Ten waits one after the other, of 1 to 10 us, from the begin of trace 7 on. */
static struct store *waits_open(void)
{
	struct store *s = open_empty();
	uint64_t at_ns = make(7, 1, "request").begin_ns;

	for (uint64_t i = 1; i <= 10; i++) {
		struct received_span span = wait_make(7, 1 + i, first);

		span.begin_ns = at_ns;
		span.end_ns = at_ns + i * 1000;
		at_ns = span.end_ns + 1;
		append(s, &span, 1);
	}
	commit(s, 100);
	return s;
}

static size_t brief_find(struct store *s, const struct store_brief *brief)
{
	struct trace_id id = {1, 7};
	const struct store_ids ids = {&id, 1, 1};
	const struct store_finding finding = {.ids = &ids, .kernel = true, .brief = brief};
	struct received_batch batch = {0};
	struct error e = {0};
	size_t count;

	if (store_find_until(s, &finding, &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	count = batch.count;
	vec_free(&batch);
	return count;
}

TEST(short_ones_of_a_time_are_told)
{
	struct store *s = waits_open();
	uint64_t begin_ns = make(7, 1, "request").begin_ns;
	struct told_spans told = {.known = true};
	struct store_brief brief = {.from_ns = begin_ns,
				    .to_ns = UINT64_MAX,
				    .least_ns = 4000,
				    .tell = told_take,
				    .arg = &told};

	CHECK_EQ(brief_find(s, &brief), 7);
	CHECK_EQ(told.count, 3);
	CHECK_EQ(told.total_ns, 6000);
	CHECK(told.known);
	brief.least_ns = 0;		 /* all are appended */
	brief.from_ns = begin_ns + 1500; /* the second one is under way */
	CHECK_EQ(brief_find(s, &brief), 9);
	brief.to_ns = begin_ns + 3500; /* and the third */
	CHECK_EQ(brief_find(s, &brief), 2);
	CHECK_EQ(told.count, 3);
	drop(s);
}

TEST(how_long_the_longest_ones_are)
{
	struct store *s = waits_open();
	struct trace_id id = {1, 7};
	const struct store_ids ids = {&id, 1, 1};
	const struct store_brief brief = {.to_ns = UINT64_MAX};
	const struct store_finding finding = {.ids = &ids, .kernel = true, .brief = &brief};
	uint64_t least_ns = 1;

	CHECK_EQ(store_kernel_least(s, &finding, 10, &least_ns, NULL), 0);
	CHECK_EQ(least_ns, 0);
	CHECK_EQ(store_kernel_least(s, &finding, 3, &least_ns, NULL), 0);
	CHECK_EQ(least_ns, 7001); /* three are longer */
	drop(s);
}

/* Makes the file what version 4 wrote. */
static void file_age(void)
{
	static const char *const statements[] = {WITHOUT_VERSION_6 "DROP TABLE kernel",
						 "UPDATE progress SET version = 4"};
	duckdb_connection connection;
	struct database db = {0};
	struct error e = {0};

	CHECK_EQ(database_open(store_path(), NULL, &db, &e), 0);
	CHECK_EQ(database_connect(&db, &connection, &e), 0);
	for (size_t i = 0; i < 2; i++)
		CHECK_EQ(sql_run(&db, connection, statements[i], NULL, &e), 0);
	db.api.disconnect(&connection);
	database_close(&db);
}

TEST(a_file_of_version_4_goes_on)
{
	struct store *s = open_empty();
	struct received_batch batch;

	family_append(s, 7, first);
	commit(s, 100);
	store_close(s);
	file_age();
	s = reopen();
	CHECK_EQ(found(s, 7), 1);
	family_append(s, 8, first);
	commit(s, 200);
	batch = kernel_find(s, 8);
	CHECK_EQ(batch.count, CHILDREN);
	vec_free(&batch);
	drop(s);
}

TEST_MAIN()
