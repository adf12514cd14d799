/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "store/internal.h"
#include "tests/unit/store/spans.h"
#include "wire/otlp.h"

TEST(what_is_committed_is_found_after_opening_again)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(7, 1, "a"), make(7, 2, "b"), make(8, 3, "a")};

	CHECK_EQ(store_position(s), 0);
	append(s, spans, 3);
	CHECK_EQ(found(s, 7), 0); /* not yet */
	commit(s, 500);
	CHECK_EQ(found(s, 7), 2);
	store_close(s);
	s = reopen();
	CHECK_EQ(store_position(s), 500);
	CHECK_EQ(found(s, 7), 2);
	CHECK_EQ(found(s, 8), 1);
	CHECK_EQ(found(s, 9), 0);
	drop(s);
}

TEST(what_is_abandoned_is_not_there)
{
	struct store *s = open_empty();
	struct received_span one = make(7, 1, "a"), other = make(8, 1, "new");
	struct store_operations list = {0};

	append(s, &one, 1);
	commit(s, 10);
	append(s, &other, 1);
	store_abandon(s);
	CHECK_EQ(store_position(s), 10);
	CHECK_EQ(found(s, 8), 0);
	append(s, &other, 1); /* from the log, once more */
	commit(s, 20);
	CHECK_EQ(found(s, 8), 1);
	CHECK_EQ(store_list(s, "shop", &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2);
	vec_free(&list);
	drop(s);
}

TEST(a_commit_may_be_in_the_middle_of_an_entry)
{
	struct store *s = open_empty();
	struct received_span one = make(7, 1, "a"), other = make(7, 2, "a");

	CHECK_EQ(store_passed(s), 0);
	append(s, &one, 1);
	CHECK_EQ(store_commit_part(s, 10, 5, NULL), 0);
	CHECK_EQ(store_passed(s), 5);
	append(s, &other, 1);
	store_abandon(s);
	CHECK_EQ(store_passed(s), 5);
	store_close(s);
	s = reopen();
	CHECK_EQ(store_position(s), 10);
	CHECK_EQ(store_passed(s), 5);
	append(s, &other, 1);
	commit(s, 20);
	CHECK_EQ(store_passed(s), 0);
	drop(s);
}

TEST(a_group_of_rows_has_room_until_it_is_full)
{
	struct store *s = open_empty();
	struct received_span span = make(7, 1, "a");

	CHECK_EQ(store_room(s), STORE_GROUP_SPANS);
	for (uint64_t i = 1; i <= STORE_GROUP_SPANS; i++) {
		span.span_id = i;
		append(s, &span, 1);
		if (i == 1000) {
			CHECK_EQ(store_room(s), STORE_GROUP_SPANS - 1000);
			commit(s, 1); /* the group goes on */
		}
	}
	CHECK_EQ(store_room(s), 0);
	commit(s, 2);
	CHECK_EQ(store_room(s), STORE_GROUP_SPANS);
	drop(s);
}

/* Many rows, so that chunks are full; then the process dies with a transaction open. */
static void child_run(void)
{
	struct store *s = NULL;

	if (store_open(&store_options, &s, NULL))
		_exit(1);
	for (uint64_t i = 0; i < 5000; i++) {
		struct received_span span = make(i, 1, "a");
		const struct received_batch batch = {&span, 1, 1};

		if (store_append(s, &batch, NULL) || (i == 2999 && store_commit(s, 3000, NULL)))
			_exit(1);
	}
	_exit(9);
}

TEST(spans_and_position_survive_a_death_together)
{
	struct store_counts counts;
	struct store *s;
	int status;
	pid_t pid;

	store_close(open_empty());
	pid = fork();
	if (pid == 0)
		child_run();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	s = reopen();
	CHECK_EQ(store_position(s), 3000);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK_EQ(counts.spans, 3000);
	CHECK(counts.bytes > 0);
	CHECK_EQ(found(s, 2999), 1);
	CHECK_EQ(found(s, 3000), 0);
	drop(s);
}

/* Commits traces from `from` on until a file becomes too large. The number of those committed. */
static uint64_t fill(struct store *s, uint64_t from, int *err)
{
	uint64_t i = from;

	for (*err = 0; !*err && i < from + 30; i += !*err) {
		char name[2000];
		struct received_span span = make(i, 1, name);
		const struct received_batch batch = {&span, 1, 1};

		memset(name, 'a' + (int)(i % 26), sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		*err = store_append(s, &batch, NULL);
		*err = *err ? *err : store_commit(s, i + 1, NULL);
	}
	return i;
}

TEST(a_store_goes_on_after_writing_failed)
{
	struct store *s = open_empty();
	struct rlimit was, low;
	struct error e = {0};
	uint64_t failed;
	int err;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = was;
	low.rlim_cur = 40000;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
	failed = fill(s, 0, &err);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
	CHECK(err < 0 && failed > 0);
	if (store_reopen(s, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(store_position(s), failed);
	CHECK_EQ(found(s, failed - 1), 1);
	CHECK_EQ(found(s, failed), 0);
	CHECK_EQ(fill(s, failed, &err), failed + 30);
	CHECK_EQ(found(s, failed + 29), 1);
	drop(s);
}

static void list_equal(const struct attribute *a, const struct attribute *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_STR(a[i].key, b[i].key);
		CHECK_EQ(a[i].type, b[i].type);
		CHECK_EQ(a[i].integer, b[i].integer);
		CHECK(a[i].real == b[i].real);
		CHECK_EQ(a[i].count, b[i].count);
		if (a[i].type == VALUE_STRING)
			CHECK_STR(a[i].string, b[i].string);
		else if (a[i].type == VALUE_BYTES)
			CHECK_MEM(a[i].string, b[i].string, a[i].count);
		else
			list_equal(a[i].items, b[i].items, a[i].count);
	}
}

static void lists_equal(const struct received_list *a, const struct received_list *b)
{
	CHECK_EQ(a->count, b->count);
	CHECK_EQ(a->dropped, b->dropped);
	list_equal(a->data, b->data, a->count);
}

static void spans_equal(const struct received_span *a, const struct received_span *b)
{
	CHECK(a->trace.high == b->trace.high && a->trace.low == b->trace.low);
	CHECK_EQ(a->span_id, b->span_id);
	CHECK_EQ(a->parent_id, b->parent_id);
	CHECK_EQ(a->begin_ns, b->begin_ns);
	CHECK_EQ(a->end_ns, b->end_ns);
	CHECK_STR(a->name, b->name);
	CHECK_STR(a->trace_state, b->trace_state);
	CHECK_STR(a->status_text, b->status_text);
	CHECK_EQ(a->kind, b->kind);
	CHECK_EQ(a->status, b->status);
	CHECK_EQ(a->flags, b->flags);
	CHECK_STR(a->resource->service, b->resource->service);
	CHECK_STR(a->scope->name, b->scope->name);
	CHECK_STR(a->scope->version, b->scope->version);
	lists_equal(&a->resource->attributes, &b->resource->attributes);
	lists_equal(&a->scope->attributes, &b->scope->attributes);
	lists_equal(&a->attributes, &b->attributes);
	CHECK_EQ(a->events_dropped, b->events_dropped);
	CHECK_EQ(a->links_dropped, b->links_dropped);
	CHECK_EQ(a->events_count, b->events_count);
	CHECK_EQ(a->links_count, b->links_count);
}

static struct received_batch sample_decode(void)
{
	struct received_batch batch = {0};
	FILE *file = fopen(OTLP_SAMPLE, "rb");
	char data[4096];
	size_t bytes;

	CHECK(file != NULL);
	bytes = fread(data, 1, sizeof(data), file);
	fclose(file);
	CHECK_EQ(otlp_decode(data, bytes, &pool, &batch, NULL), 0);
	return batch;
}

TEST(a_span_comes_back_with_all_its_fields)
{
	struct store *s = open_empty();
	struct received_batch sent = sample_decode(), back;
	const struct received_span *full;

	append(s, sent.data, sent.count);
	commit(s, 1);
	back = find(s, sent.data[0].trace);
	CHECK_EQ(sent.count, 2);
	CHECK_EQ(back.count, 2);
	full = &back.data[1]; /* the bare one began at 0 */
	spans_equal(&back.data[0], &sent.data[1]);
	spans_equal(full, &sent.data[0]);
	CHECK_EQ(full->events[0].time_ns, sent.data[0].events[0].time_ns);
	CHECK_STR(full->events[0].name, "cache miss");
	lists_equal(&full->events[0].attributes, &sent.data[0].events[0].attributes);
	CHECK(full->links[0].trace.high == sent.data[0].links[0].trace.high);
	CHECK(full->links[0].trace.low == sent.data[0].links[0].trace.low);
	CHECK(full->links[0].span_id == sent.data[0].links[0].span_id);
	lists_equal(&full->links[0].attributes, &sent.data[0].links[0].attributes);
	vec_free(&sent);
	vec_free(&back);
	drop(s);
}

TEST(odd_times_and_texts_are_kept)
{
	struct store *s = open_empty();
	struct received_span span = make(7, 1, "it's \"odd\"; DROP TABLE spans; --");
	struct received_batch back;

	span.begin_ns = UINT64_MAX;
	span.end_ns = 0;
	append(s, &span, 1);
	commit(s, 1);
	back = find(s, span.trace);
	CHECK_EQ(back.count, 1);
	spans_equal(&back.data[0], &span);
	vec_free(&back);
	drop(s);
}

TEST(a_span_that_was_sent_twice_is_shown_once)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(7, 1, "a"), make(7, 1, "a")};

	append(s, spans, 2);
	commit(s, 1);
	append(s, spans, 1);
	commit(s, 2);
	CHECK_EQ(found(s, 7), 1);
	drop(s);
}

TEST(both_halves_of_a_call_are_found)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(7, 1, "a"), make(7, 1, "a")};
	struct received_batch batch;

	spans[0].kind = RECEIVED_CLIENT;
	spans[1].begin_ns++;
	spans[1].shared = true;
	append(s, spans, 2);
	commit(s, 1);
	batch = find(s, (struct trace_id){1, 7});
	CHECK_EQ(batch.count, 2);
	CHECK(!batch.data[0].shared && batch.data[1].shared);
	vec_free(&batch);
	drop(s);
}

TEST(two_sides_of_a_call_may_have_one_id)
{
	static const struct received_resource other = {.service = "bank"};
	struct store *s = open_empty();
	struct received_span spans[] = {make(7, 1, "a"), make(7, 1, "a"), make(7, 1, "a"),
					make(7, 1, "a")};

	spans[1].kind = RECEIVED_CLIENT;
	spans[2].resource = &other;
	append(s, spans, 4);
	commit(s, 1);
	CHECK_EQ(found(s, 7), 3);
	drop(s);
}

/* Spans of two programs, which are found by turns. One has a resource of 8 MB. */
TEST(a_resource_is_stored_once_and_read_once)
{
	static const struct attribute words[] = {{.type = VALUE_STRING, .string = "-v"}};
	struct attribute large[] = {
		{.key = "large", .type = VALUE_STRING},
		{.key = "process.command_args", .type = VALUE_ARRAY, .items = words, .count = 1}};
	const struct received_resource resources[] = {
		{.service = "a", .attributes = {large, 2, 0}},
		{.service = "b", .attributes = {large + 1, 1, 0}}};
	const size_t bytes = (size_t)8 << 20;
	struct pool bounded = {.limit_bytes = 10 * bytes};
	const struct trace_id id = {1, 7};
	struct received_batch batch = {0};
	struct store_counts counts;
	struct store *s = open_empty();
	char *text = malloc(bytes + 1);
	static struct received_span spans[6000];

	CHECK(text != NULL);
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	large[0].string = text;
	for (size_t i = 0; i < 6000; i++) {
		spans[i] = make(7, i % 3000 * 2 + i / 3000 + 1, "a");
		spans[i].resource = &resources[i / 3000];
	}
	append(s, spans, 6000);
	CHECK(store_pending_bytes(s) < 2 * bytes);
	commit(s, 1);
	CHECK_EQ(store_find(s, &(struct store_ids){(struct trace_id *)&id, 1, 1}, &bounded, &batch,
			    NULL),
		 0);
	CHECK_EQ(batch.count, 6000);
	CHECK(batch.data[0].resource != batch.data[1].resource);
	CHECK(batch.data[0].resource == batch.data[5998].resource);
	CHECK(batch.data[1].resource == batch.data[5999].resource);
	CHECK_STR(batch.data[0].resource->attributes.data[0].string, text);
	lists_equal(&batch.data[1].resource->attributes, &resources[1].attributes);
	CHECK_EQ(store_count(s, &counts, NULL), 0);
	CHECK(counts.bytes < 10 * bytes);
	vec_free(&batch);
	pool_free(&bounded);
	free(text);
	drop(s);
}

/* The spans of one request may have so many, and others wait while they are stored. */
TEST(many_resources_are_stored_without_a_statement_for_each)
{
	enum { COUNT = 20000 };
	struct attribute *attributes = calloc(COUNT, sizeof(*attributes));
	struct received_resource *resources = calloc(COUNT, sizeof(*resources));
	struct received_span *spans = calloc(COUNT, sizeof(*spans));
	const struct trace_id id = {1, 7};
	struct received_batch batch = {0};
	struct store *s = open_empty();
	uint64_t begin_ns;

	CHECK(attributes && resources && spans);
	for (size_t i = 0; i < COUNT; i++) {
		attributes[i] = (struct attribute){
			.key = "number", .type = VALUE_INTEGER, .integer = (int64_t)i};
		resources[i] = (struct received_resource){"shop",
							  {.data = &attributes[i], .count = 1}};
		spans[i] = make(i ? 7 : 8, i + 1, "a");
		spans[i].resource = &resources[i];
	}
	begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	append(s, spans, COUNT);
	commit(s, 1);
	CHECK(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < UINT64_C(2000000000));
	CHECK_EQ(store_find(s, &(struct store_ids){(struct trace_id *)&id, 1, 1}, &pool, &batch,
			    NULL),
		 0);
	CHECK_EQ(batch.count, COUNT - 1);
	for (size_t i = 0; i < batch.count; i++)
		CHECK_EQ(batch.data[i].resource->attributes.data[0].integer,
			 batch.data[i].span_id - 1);
	vec_free(&batch);
	free(spans);
	free(resources);
	free(attributes);
	drop(s);
}

static void version_set(unsigned int version)
{
	struct database db;
	duckdb_connection connection;
	char sql[80];

	snprintf(sql, sizeof(sql), "UPDATE progress SET version = %u", version);
	CHECK_EQ(database_open(store_path(), NULL, &db, NULL), 0);
	CHECK_EQ(database_connect(&db, &connection, NULL), 0);
	CHECK_EQ(sql_run(&db, connection, sql, NULL, NULL), 0);
	db.api.disconnect(&connection);
	database_close(&db);
}

TEST(a_store_of_a_newer_version_is_refused_and_of_the_first_one)
{
	static const struct {
		unsigned int version;
		const char *word;
	} cases[] = {{1000, "was written by a newer fathom"},
		     {1, "was written by an older fathom: remove it"}};
	struct store *s = open_empty();

	store_close(s);
	for (size_t i = 0; i < 2; i++) {
		struct error e = {0};

		version_set(cases[i].version);
		CHECK_EQ(store_open(&store_options, &s, &e), -EPROTONOSUPPORT);
		CHECK(strstr(e.text, cases[i].word));
		CHECK(strstr(e.text, store_path()));
		CHECK(!strchr(e.text, '\n'));
	}
	drop(NULL);
}

static void old_run(struct database *db, duckdb_connection connection, const char *sql)
{
	struct error e = {0};

	if (sql_run(db, connection, sql, NULL, &e))
		CHECK_FAIL("%s", e.text);
}

/* A file as version 2 wrote it, with a span in trace 7. */
static void old_file_make(void)
{
	struct database db;
	duckdb_connection connection;

	char path[120];

	snprintf(path, sizeof(path), "%s/spans.duckdb", dir_name);
	CHECK_EQ(database_open(path, NULL, &db, NULL), 0);
	CHECK_EQ(database_connect(&db, &connection, NULL), 0);
	old_run(&db, connection,
		"CREATE TABLE spans(trace UHUGEINT NOT NULL, span UBIGINT NOT NULL,"
		" parent UBIGINT NOT NULL, begin_ns UBIGINT NOT NULL, duration_ns UBIGINT NOT NULL,"
		" service VARCHAR NOT NULL, name VARCHAR NOT NULL, kind UTINYINT NOT NULL,"
		" status UTINYINT NOT NULL, attributes VARCHAR USING COMPRESSION zstd NOT NULL,"
		" resource UBIGINT NOT NULL, scope UBIGINT NOT NULL, rest VARCHAR NOT NULL);"
		"CREATE TABLE texts(id UBIGINT NOT NULL, text VARCHAR NOT NULL);"
		"CREATE TABLE operations(service VARCHAR NOT NULL, name VARCHAR NOT NULL,"
		" kind UTINYINT NOT NULL);"
		"CREATE TABLE progress(version UBIGINT NOT NULL, position UBIGINT NOT NULL);"
		"INSERT INTO progress VALUES (2, 77);"
		"INSERT INTO operations VALUES ('shop', 'a', 2);"
		"INSERT INTO texts VALUES (1, '{}');"
		"INSERT INTO spans VALUES ((1::UHUGEINT << 64) + 7, 1, 0, 7000000000, 5, 'shop', "
		"'a',"
		" 2, 0, '{}', 1, 1, '{}')");
	db.api.disconnect(&connection);
	database_close(&db);
}

TEST(a_file_of_version_2_goes_on)
{
	struct store *s = open_empty();
	struct received_span spans[] = {make(7, 2, "a"), make(7, 3, "b")};
	struct store_operations list = {0};
	struct store_sums sums = {0};

	store_close(s);
	unlink(store_path());
	old_file_make();
	for (int i = 0; i < 2; i++) {
		s = reopen();
		CHECK_EQ(store_position(s), 77);
		CHECK_EQ(found(s, 7), 1);
		if (i == 0)
			store_close(s);
	}
	append(s, spans, 2);
	commit(s, 78);
	CHECK_EQ(found(s, 7), 3);
	CHECK_EQ(store_list(s, NULL, &pool, &list, NULL), 0);
	CHECK_EQ(list.count, 2);
	CHECK_EQ(store_sums(s, &(struct store_sums_query){.kind = -1, .by = STORE_BY_OPERATION},
			    &pool, &sums, NULL),
		 0);
	CHECK_EQ(sums.count, 2);
	store_sums_free(&sums);
	vec_free(&list);
	drop(s);
}

TEST(a_missing_library_is_one_clear_line)
{
	struct store *s = NULL;
	struct error e = {0};

	CHECK_EQ(store_open(&(struct store_options){.dir = "/", .library = "/nowhere/libduckdb.so"},
			    &s, &e),
		 -ELIBACC);
	CHECK(strstr(e.text, "/nowhere/libduckdb.so"));
	CHECK(!s);
}

TEST_MAIN()
