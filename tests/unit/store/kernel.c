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
