/* SPDX-License-Identifier: Apache-2.0 */
/* The table of spans has columns for what its spans have. */
#include "store/layout.h"

#include <sys/wait.h>

#include "store/internal.h"
#include "store/sql.h"
#include "tests/unit/store/spans.h"

#define MS UINT64_C(1000000)
#define MANY 200

/* A span that was on a lock for so long. */
static struct received_span locked(uint64_t trace, uint64_t id, int64_t lock_ns)
{
	static struct attribute times[2 * MANY];
	static size_t count;
	struct attribute *time = &times[count++ % (2 * MANY)];
	struct received_span span = make(trace, id, "locked");

	*time = (struct attribute){
		.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = lock_ns};
	span.attributes = (struct received_list){time, 1, 0};
	return span;
}

static size_t locked_found(struct store *s, uint64_t from_ns)
{
	const struct store_cause cause = {.part = SPLIT_lock, .from_ns = from_ns};
	const struct store_query query = {.kind = -1,
					  .causes = &cause,
					  .causes_count = 1,
					  .sort = STORE_SORT_PART,
					  .sort_part = SPLIT_lock,
					  .limit = 10};
	struct store_ids ids = {0};
	struct error e = {0};
	size_t count;

	if (store_search(s, &query, &ids, &e))
		CHECK_FAIL("%s", e.text);
	count = ids.count;
	vec_free(&ids);
	return count;
}

static void both_append(struct store *s)
{
	const struct received_span spans[] = {make(1, 1, "a"), locked(2, 1, 5 * MS),
					      make(3, 1, "b")};

	append(s, spans, 3);
}

static void both_check(struct store *s)
{
	for (uint64_t trace = 1; trace <= 3; trace++)
		CHECK_EQ(found(s, trace), 1);
	CHECK(files_newest(s)->has_parts);
	CHECK_EQ(locked_found(s, 5 * MS), 1);
	CHECK_EQ(locked_found(s, 5 * MS + 1), 0);
}

TEST(the_first_span_with_a_split_brings_its_columns)
{
	struct store *s = open_empty();
	struct received_span span = make(9, 1, "a");

	append(s, &span, 1);
	commit(s, 1);
	CHECK_EQ(files_newest(s)->layout.columns, COLUMN_FIRST_PART);
	CHECK_EQ(locked_found(s, 1), 0);
	both_append(s);
	store_abandon(s);
	CHECK(!files_newest(s)->has_parts);
	CHECK_EQ(locked_found(s, 1), 0);
	both_append(s);
	commit(s, 2);
	both_check(s);
	store_close(s);
	s = reopen();
	both_check(s);
	CHECK_EQ(files_newest(s)->layout.columns, COLUMN_FIRST_PART + SPLIT_PARTS_COUNT);
	drop(s);
}

/* Many spans whose lock is shown as an attribute, too, in two transactions. */
static void many_append(struct store *s)
{
	for (uint64_t i = 0; i < MANY; i++) {
		struct received_span span = locked(100 + i, 1, (int64_t)(i + 1));

		append(s, &span, 1);
		if (i == MANY / 2)
			commit(s, 10);
	}
	commit(s, 11);
}

static void many_check(struct store *s)
{
	CHECK_EQ(store_position(s), 11);
	CHECK_EQ(files_newest(s)->typed.numbers, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		struct received_batch batch = find(s, (struct trace_id){1, 100 + i});

		CHECK_EQ(batch.count, 1);
		CHECK_EQ(batch.data[0].attributes.count, 1);
		CHECK_EQ(batch.data[0].attributes.data[0].integer, i + 1);
		vec_free(&batch);
	}
	CHECK_EQ(locked_found(s, MANY - 4), 6); /* one is of both_append() */
}

TEST(columns_are_there_after_the_process_was_killed)
{
	struct store *s = open_empty();
	int status;
	pid_t pid;

	store_close(s);
	pid = fork();
	if (pid == 0) {
		s = reopen();
		both_append(s);
		commit(s, 1);
		many_append(s);
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 7);
	s = reopen();
	both_check(s);
	many_check(s);
	drop(s);
}

struct told_rows {
	char text[400];
	size_t bytes;
};

static int names_take(void *arg, const char *const *names, const char *const *types, size_t count)
{
	return 0;
}

static int row_take(void *arg, const struct sql_value *values, size_t count)
{
	struct told_rows *told = arg;

	told->bytes += (size_t)snprintf(told->text + told->bytes, sizeof(told->text) - told->bytes,
					"%.*s ", (int)values[0].bytes, values[0].text);
	return 0;
}

static void warn(void *arg, const char *text)
{
	CHECK_FAIL("%s", text);
}

TEST(files_with_and_without_a_split_are_read_together)
{
	struct told_rows told = {.bytes = 0};
	const struct sql_taker taker = {names_take, row_take, warn, &told, NULL};
	struct received_span span = make(9, 1, "a"), last = make(8, 1, "a");
	struct store *s;
	struct error e = {0};

	store_options.spans_max = 1;
	s = open_empty();
	append(s, &span, 1);
	commit(s, 1);
	CHECK(!files_newest(s)->has_parts);
	both_append(s);
	commit(s, 2);
	CHECK(files_newest(s)->has_parts); /* it is expected there, too */
	append(s, &last, 1);
	commit(s, 3);
	both_check(s);
	CHECK_EQ(s->files.count, 4);
	store_close(s);
	s = reopen();
	both_check(s);
	store_close(s);
	if (store_sql(dir_name, "SELECT lock_ns FROM spans ORDER BY begin_ns", &taker, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_STR(told.text, "0 5000000 0 0 0 ");
	store_options = (struct store_options){.dir = dir_name};
	s = reopen();
	drop(s);
}

#define TEXT_ADD(column) "ALTER TABLE spans ADD COLUMN " #column " VARCHAR DEFAULT '';"
#define NUMBER_ADD(column) "ALTER TABLE spans ADD COLUMN " #column " UBIGINT DEFAULT 0;"

TEST(a_file_of_version_7_goes_on)
{
	struct store *s = open_empty();
	duckdb_connection connection;
	struct database db;
	struct error e = {0};

	both_append(s);
	commit(s, 1);
	store_close(s);
	CHECK_EQ(database_open(store_path(), NULL, &db, NULL), 0);
	CHECK_EQ(database_connect(&db, &connection, NULL), 0);
	if (sql_run(&db, connection,
		    TYPED_TEXT_COLUMNS(TEXT_ADD)
			    TYPED_NUMBER_COLUMNS(NUMBER_ADD) "UPDATE progress SET version = 7",
		    NULL, &e))
		CHECK_FAIL("%s", e.text);
	db.api.disconnect(&connection);
	database_close(&db);
	for (int i = 0; i < 2; i++) {
		s = reopen();
		both_check(s);
		if (i == 0)
			many_append(s);
		many_check(s);
		CHECK_EQ(files_newest(s)->layout.columns, COLUMNS_OF_SPANS);
		if (i == 0)
			store_close(s);
	}
	drop(s);
}

TEST_MAIN()
