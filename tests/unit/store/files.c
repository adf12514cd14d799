/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "store/internal.h"
#include "tests/unit/store/spans.h"

#define SECOND UINT64_C(1000000000)

static struct store_counts counts(struct store *s)
{
	struct store_counts counts;

	CHECK_EQ(store_count(s, &counts, NULL), 0);
	return counts;
}

/* A file for each 10 spans of the traces 1 to 100, which are a second apart. */
static struct store *open_filled(void)
{
	struct store *s;

	store_options.spans_max = 10;
	s = open_empty();
	for (uint64_t i = 1; i <= 100; i++) {
		struct received_span span = make(i, 1, i % 2 ? "odd" : "even");

		span.end_ns = span.begin_ns + (101 - i) * 1000000;
		append(s, &span, 1);
		if (i % 5 == 0)
			commit(s, i);
	}
	return s;
}

static void close_filled(struct store *s)
{
	store_options = (struct store_options){.dir = dir_name};
	drop(s);
}

static void search_is(struct store *s, struct store_query query, const uint64_t *wanted,
		      size_t count)
{
	struct store_ids ids = {0};

	query.kind = -1;
	query.limit = query.limit ? query.limit : 200;
	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	CHECK_EQ(ids.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(ids.data[i].low, wanted[i]);
	vec_free(&ids);
}

static void filled_check(struct store *s)
{
	static const uint64_t newest[] = {100, 99, 98}, longest[] = {1, 2, 3};
	static const uint64_t range[] = {31, 30, 29};
	struct store_operations list = {0};
	struct store_sums sums = {0};

	CHECK_EQ(store_position(s), 100);
	CHECK_EQ(counts(s).spans, 100);
	CHECK_EQ(counts(s).files, 11);
	for (uint64_t i = 1; i <= 100; i++)
		CHECK_EQ(found(s, i), 1);
	CHECK_EQ(found(s, 101), 0);
	search_is(s, (struct store_query){.limit = 3}, newest, 3);
	search_is(s, (struct store_query){.limit = 3, .sort = STORE_SORT_DURATION}, longest, 3);
	search_is(s, (struct store_query){.begin_from_ns = 29 * SECOND, .begin_to_ns = 31 * SECOND},
		  range, 3);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2);
	vec_free(&list);
	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, NULL), 0);
	CHECK_EQ(sums.count, 1);
	CHECK_EQ(sums.data[0].count, 100);
	CHECK_EQ(sums.data[0].total_ns, UINT64_C(5050000000));
	store_sums_free(&sums);
	CHECK_EQ(store_sums(s,
			    &(struct store_sums_query){
				    .kind = -1, .from_ns = 20 * SECOND, .to_ns = 40 * SECOND},
			    &pool, &sums, NULL),
		 0);
	CHECK_EQ(sums.data[0].count, 20);
	store_sums_free(&sums);
}

TEST(answers_are_those_of_all_files)
{
	struct store *s = open_filled();

	filled_check(s);
	store_close(s);
	s = reopen();
	filled_check(s);
	close_filled(s);
}

TEST(a_late_span_is_found_with_its_trace)
{
	struct store *s = open_filled();
	struct received_span late = make(7, 2, "late");

	append(s, &late, 1);
	commit(s, 101);
	CHECK_EQ(found(s, 7), 2);
	close_filled(s);
}

TEST(pages_follow_each_other)
{
	struct store *s = open_filled();
	struct store_query query = {.kind = -1, .limit = 7, .sort = STORE_SORT_DURATION};
	struct store_mark last;
	uint64_t next = 1;

	for (int page = 0; page < 15; page++) {
		struct store_marks marks = {0};

		CHECK_EQ(store_search_marks(s, &query, &marks, NULL), 0);
		CHECK_EQ(marks.count, page < 14 ? 7 : 2);
		for (size_t i = 0; i < marks.count; i++)
			CHECK_EQ(marks.data[i].id.low, next++);
		last = marks.data[marks.count - 1];
		query.after = &last;
		vec_free(&marks);
	}
	close_filled(s);
}

TEST(the_oldest_files_go_when_there_are_too_many_bytes)
{
	struct store *s = open_filled();
	struct received_span span = make(200, 1, "a");
	uint64_t bytes = counts(s).bytes;

	store_close(s);
	store_options.keep_bytes = bytes / 2;
	s = reopen();
	append(s, &span, 1);
	commit(s, 102);
	CHECK(counts(s).bytes <= bytes / 2);
	CHECK(counts(s).files < 11);
	CHECK(counts(s).dropped >= 50);
	CHECK_EQ(counts(s).spans + counts(s).dropped, 101);
	CHECK_EQ(found(s, 1), 0);
	CHECK_EQ(found(s, 200), 1);
	store_close(s);
	s = reopen();
	CHECK_EQ(store_position(s), 102);
	CHECK_EQ(found(s, 200), 1);
	close_filled(s);
}

TEST(old_files_go_after_a_time)
{
	struct store *s = open_filled();
	struct received_span span = make(200, 1, "a");

	store_close(s);
	store_options.keep_ns = 1; /* all but the newest one ended before that */
	s = reopen();
	append(s, &span, 1);
	commit(s, 102);
	CHECK_EQ(counts(s).files, 1);
	CHECK_EQ(counts(s).spans, 1);
	close_filled(s);
}

static void file_damage(const char *name)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir_name, name);
	file = fopen(path, "r+");
	CHECK(file != NULL);
	CHECK_EQ(fseek(file, 4096, SEEK_SET), 0);
	for (int i = 0; i < 8192; i++)
		fputc(0x5a, file);
	fclose(file);
}

TEST(a_damaged_file_is_left_out)
{
	struct store *s = open_filled();
	struct received_span span = make(200, 1, "a");

	store_close(s);
	file_damage("spans-000003.duckdb"); /* traces 21 to 30 */
	s = reopen();
	CHECK_EQ(counts(s).lost_files, 1);
	CHECK_EQ(found(s, 20), 1);
	CHECK_EQ(found(s, 21), 0);
	CHECK_EQ(found(s, 31), 1);
	append(s, &span, 1);
	commit(s, 200);
	store_close(s);
	file_damage("spans-000011.duckdb"); /* the newest */
	s = reopen();
	CHECK_EQ(counts(s).lost_files, 2);
	CHECK_EQ(store_position(s), 100);
	append(s, &span, 1);
	commit(s, 201);
	CHECK_EQ(found(s, 200), 1);
	close_filled(s);
}

#define BLOCK_BYTES 262144L /* of which DuckDB keeps a checksum each, behind the headers */
#define MANY 2000

static void dir_clear_but(const char *path)
{
	char away[120];

	snprintf(away, sizeof(away), "%s.kept", dir_name);
	CHECK_EQ(rename(path, away), 0);
	dir_clear();
	CHECK_EQ(rename(away, path), 0);
}

static long copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	long bytes = 0;

	CHECK(in && out);
	for (int c; (c = fgetc(in)) != EOF; bytes++)
		fputc(c, out);
	fclose(in);
	fclose(out);
	return bytes;
}

/* It is asked for what reads each table, and takes a span. */
static void damaged_check(struct store *s)
{
	struct received_span span = make(MANY + 1, 1, "after");
	struct store_operations list = {0};
	struct store_sums sums = {0};
	struct error e = {0};

	if (store_list(s, NULL, &pool, &list, &e) ||
	    store_sums(s, &(struct store_sums_query){.kind = -1}, &pool, &sums, &e))
		CHECK_FAIL("%s", e.text);
	for (uint64_t i = 1; i <= MANY; i += 500)
		found(s, i);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	append(s, &span, 1);
	commit(s, MANY + 1);
	CHECK_EQ(found(s, MANY + 1), 1);
	vec_free(&list);
	store_sums_free(&sums);
}

/* Such a file may be opened: a query, or the start, finds it, and it is left out from then on. */
TEST(a_file_with_a_damaged_block_is_left_out)
{
	struct store *s = open_empty();
	unsigned int lost = 0;
	char kept[120];
	long bytes;

	snprintf(kept, sizeof(kept), "%s/kept", dir_name);
	for (uint64_t i = 1; i <= MANY; i++) {
		char name[32];
		struct received_span span = make(i, i * UINT64_C(0x9e3779b97f4a7c15), name);

		snprintf(name, sizeof(name), "%016lx", i * i * UINT64_C(0xbf58476d1ce4e5b9));
		append(s, &span, 1);
	}
	commit(s, MANY);
	store_close(s);
	bytes = copy_file(store_path(), kept);
	for (long at = 3 * 4096 + 64; at < bytes; at += BLOCK_BYTES) {
		FILE *file;
		int byte;

		copy_file(kept, store_path());
		file = fopen(store_path(), "r+");
		CHECK(file && fseek(file, at, SEEK_SET) == 0 && (byte = fgetc(file)) != EOF);
		CHECK_EQ(fseek(file, at, SEEK_SET), 0);
		fputc(byte ^ 0x5a, file);
		fclose(file);
		s = reopen();
		damaged_check(s);
		lost += counts(s).lost_files > 0;
		store_close(s);
		dir_clear_but(kept);
	}
	CHECK(lost > 2);
	drop(reopen());
}

TEST(a_file_that_cannot_be_opened_for_a_while_comes_back)
{
	struct store *s = open_filled();
	char path[160], away[160];

	store_close(s);
	snprintf(path, sizeof(path), "%s/spans-000003.duckdb", dir_name);
	snprintf(away, sizeof(away), "%s/away", dir_name);
	CHECK_EQ(rename(path, away), 0);
	CHECK_EQ(symlink(path, path), 0); /* a circle */
	s = reopen();
	CHECK_EQ(counts(s).lost_files, 1);
	CHECK(strstr(counts(s).lost_why, path));
	CHECK_STR(store_lost_why(s), counts(s).lost_why);
	CHECK_EQ(found(s, 21), 0);
	CHECK_EQ(rename(away, path), 0);
	CHECK_EQ(store_reopen(s, NULL), 0);
	CHECK_EQ(counts(s).lost_files, 0);
	CHECK_STR(store_lost_why(s), "");
	CHECK_EQ(found(s, 21), 1);
	close_filled(s);
}

TEST(only_what_a_file_has_is_damage)
{
	CHECK(files_is_damage("DuckDB: IO Error: Corrupt database file \"/a/b.duckdb\"", "/a"));
	CHECK(!files_is_damage(
		"DuckDB: IO Error: Cannot open file \"/Corrupt/WAL/b.duckdb\": in use",
		"/Corrupt/WAL"));
	CHECK(files_is_damage("DuckDB: IO Error: \"/WAL/b.duckdb\" has a wrong checksum of WAL",
			      "/WAL"));
	CHECK(!files_is_damage("DuckDB: IO Error: cannot write the WAL: No space left on device",
			       "/"));
}

static void retain(struct store *s)
{
	struct error e = {0};

	if (store_retain(s, &e))
		CHECK_FAIL("%s", e.text);
}

TEST(a_store_to_which_nothing_comes_drops_old_files)
{
	struct store *s = open_filled();
	struct received_span span = make(200, 1, "a");

	append(s, &span, 1);
	commit(s, 101);
	store_close(s);
	file_damage("spans-000002.duckdb"); /* nobody knows when it began */
	store_options = (struct store_options){.dir = dir_name, .keep_ns = 1};
	s = reopen();
	CHECK_EQ(counts(s).files, 11);
	retain(s);
	CHECK_EQ(counts(s).files, 1);
	CHECK_EQ(counts(s).lost_files, 0);
	CHECK_EQ(found(s, 200), 1);
	store_close(s);
	store_options.period_ns = 1; /* the last one ends, too */
	s = reopen();
	retain(s);
	CHECK_EQ(counts(s).files, 1);
	CHECK_EQ(counts(s).spans, 0);
	CHECK_EQ(store_position(s), 101);
	close_filled(s);
}

TEST(a_file_ends_after_its_period)
{
	struct received_span spans[] = {make(1, 1, "a"), make(2, 1, "a")};
	struct store *s;

	store_options.period_ns = 1;
	s = open_empty();
	append(s, spans, 1);
	commit(s, 1);
	append(s, spans + 1, 1);
	commit(s, 2);
	CHECK_EQ(counts(s).files, 3);
	CHECK_EQ(found(s, 1), 1);
	CHECK_EQ(found(s, 2), 1);
	close_filled(s);
}

struct asker {
	struct store *store;
	_Atomic bool ends;
	_Atomic int failures, answers;
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct pool own = {0};

	while (!a->ends) {
		struct store_ids found = {0};
		struct received_batch batch = {0};
		struct trace_id id = {1, 1};
		const struct store_ids ids = {&id, 1, 1};
		const struct store_query query = {.kind = -1, .limit = 5};

		a->failures += store_search(a->store, &query, &found, NULL) != 0;
		a->failures += store_find(a->store, &ids, &own, &batch, NULL) != 0;
		a->answers++;
		vec_free(&found);
		vec_free(&batch);
		pool_reset(&own);
	}
	pool_free(&own);
	return NULL;
}

TEST(queries_are_answered_while_files_come_and_go)
{
	struct asker asker = {0};
	pthread_t thread;

	store_options.period_ns = 1;
	store_options.keep_bytes = 3000000;
	asker.store = open_empty();
	CHECK_EQ(pthread_create(&thread, NULL, ask, &asker), 0);
	for (uint64_t i = 1; i <= 40 || asker.answers < 20; i++) {
		struct received_span span = make(i, 1, "a");

		append(asker.store, &span, 1);
		commit(asker.store, i);
	}
	asker.ends = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(asker.failures, 0);
	close_filled(asker.store);
}

static int count_take(void *arg, const struct row *row)
{
	*(uint64_t *)arg += row_number(row, 0);
	return 0;
}

/* The spans that a query sees in the files that it asks. */
static uint64_t asked_spans(struct asking *a)
{
	uint64_t spans = 0;
	const struct row_taker taker = {count_take, &spans, 1};

	for (size_t i = 0; i < a->files.count; i++) {
		CHECK_EQ(store_file_use(a->files.data[i], &a->store->db, a->connection, NULL), 0);
		CHECK_EQ(sql_run(&a->store->db, a->connection,
				 "SELECT count(*)::UBIGINT FROM spans", &taker, NULL),
			 0);
	}
	return spans;
}

static size_t files_on_disk(void)
{
	DIR *dir = opendir(dir_name);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)))
		count += strstr(entry->d_name, ".duckdb") && !strstr(entry->d_name, ".wal");
	closedir(dir);
	return count;
}

TEST(files_come_and_go_while_a_query_asks)
{
	struct store *s = open_filled();
	struct asking asking;

	CHECK_EQ(asking_begin(&asking, s, NULL), 0);
	CHECK_EQ(asking.files.count, 11);
	CHECK_EQ(asked_spans(&asking), 100);
	s->options.keep_ns = 1;
	s->retain_ns = 0;
	for (uint64_t i = 201; i <= 210; i++) {
		struct received_span span = make(i, 1, "a");

		append(s, &span, 1);
	}
	commit(s, 210); /* the next file begins, and all before it are dropped */
	CHECK_EQ(counts(s).files, 1);
	CHECK_EQ(found(s, 1), 0);
	CHECK_EQ(asked_spans(&asking), 110);
	CHECK_EQ(files_on_disk(), 12);
	CHECK_EQ(asking_end(&asking, 0, NULL), 0);
	retain(s);
	CHECK_EQ(files_on_disk(), 1);
	close_filled(s);
}

TEST(a_file_that_ended_is_opened_for_reading_alone)
{
	struct store *s = open_filled();

	s->retain_ns = 0;
	retain(s);
	for (size_t i = 0; i < 11; i++)
		CHECK_EQ(s->files.data[i]->is_written, i == 10);
	filled_check(s);
	close_filled(s);
}

static size_t found_by_name(struct store *s, const char *name)
{
	const struct store_query query = {.operation = name, .kind = -1, .limit = 5};
	struct store_ids ids = {0};
	size_t count;

	CHECK_EQ(store_search(s, &query, &ids, NULL), 0);
	count = ids.count;
	vec_free(&ids);
	return count;
}

static struct received_span version_make(const char *name, const struct attribute *version)
{
	struct received_span span = make(1, 1, name);

	span.attributes = (struct received_list){version, 1, 0};
	return span;
}

/* Turns the first file into one of version 5. */
static void file_age(void)
{
	struct database db;
	duckdb_connection connection;

	CHECK_EQ(database_open(store_path(), NULL, &db, NULL), 0);
	CHECK_EQ(database_connect(&db, &connection, NULL), 0);
	CHECK_EQ(sql_run(&db, connection, WITHOUT_VERSION_6 "UPDATE progress SET version = 5", NULL,
			 NULL),
		 0);
	db.api.disconnect(&connection);
	database_close(&db);
}

TEST(a_search_finds_the_highest_version_also_in_older_files)
{
	static const struct attribute versions[] = {
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 1},
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 2}};
	struct received_span first = version_make("first", versions);
	struct received_span second = version_make("second", versions + 1);
	struct received_span other = make(2, 1, "other");
	struct store *s = open_empty();

	append(s, &first, 1);
	commit(s, 1);
	CHECK_EQ(found_by_name(s, "first"), 1);
	append(s, &second, 1);
	commit(s, 2);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(found_by_name(s, "first"), 0);
		CHECK_EQ(found_by_name(s, "second"), 1);
		CHECK_EQ(found(s, 1), 1);
		store_close(s);
		if (i == 0)
			file_age(); /* the newest one: it is brought to this version */
		if (i == 1)
			store_options.spans_max = 1;
		s = reopen();
		if (i == 1) {
			append(s, &other, 1);
			commit(s, 3); /* the file ends */
			store_close(s);
			file_age(); /* it is read as it is */
			s = reopen();
			CHECK_EQ(s->files.data[0]->version, 5);
		}
	}
	close_filled(s);
}

TEST_MAIN()
