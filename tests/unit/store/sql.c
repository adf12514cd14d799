/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/store/spans.h"

struct taken {
	char text[400]; /* names and values, with a space behind each */
	size_t bytes;
	int warnings;
	int copies; /* in the directory for copies, when the last row came */
	int copied; /* files */
};

static int copies_count(void)
{
	DIR *dir = opendir(getenv("TMPDIR"));
	struct dirent *entry;
	int count = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)))
		count += strncmp(entry->d_name, "fathom-sql-", 11) == 0;
	closedir(dir);
	return count;
}

static int columns_take(void *arg, const char *const *names, const char *const *types, size_t count)
{
	struct taken *t = arg;

	for (size_t i = 0; i < count; i++)
		t->bytes += (size_t)snprintf(t->text + t->bytes, sizeof(t->text) - t->bytes,
					     "%s:%s ", names[i], types[i]);
	return 0;
}

static int row_take(void *arg, const struct sql_value *values, size_t count)
{
	struct taken *t = arg;

	t->copies = copies_count();
	for (size_t i = 0; i < count; i++)
		t->bytes += (size_t)snprintf(t->text + t->bytes, sizeof(t->text) - t->bytes,
					     "%.*s ", (int)(values[i].text ? values[i].bytes : 4),
					     values[i].text ? values[i].text : "none");
	return 0;
}

static void warning_take(void *arg, const char *text)
{
	((struct taken *)arg)->warnings++;
}

static void copies_take(void *arg, uint64_t bytes, const char *where)
{
	CHECK(bytes > 4096);
	CHECK(strncmp(where, dir_name, strlen(dir_name)) == 0);
	((struct taken *)arg)->copied++;
}

static struct taken ask(const char *sql)
{
	struct taken taken = {.bytes = 0};
	const struct sql_taker taker = {columns_take, row_take, warning_take, &taken, copies_take};
	struct error e = {0};

	CHECK_EQ(setenv("TMPDIR", dir_name, 1), 0);
	if (store_sql(dir_name, sql, &taker, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(taken.copies, 0); /* a signal would have left them */
	CHECK_EQ(copies_count(), 0);
	return taken;
}

TEST(files_are_read_beside_the_store_that_writes)
{
	struct received_span spans[] = {make(1, 1, "a"), make(2, 2, "b"), make(3, 3, "b")};
	struct store *s;
	struct taken t;

	store_options.spans_max = 2;
	s = open_empty();
	append(s, spans, 2);
	commit(s, 2); /* ends a file */
	append(s, spans + 2, 1);
	commit(s, 3);
	t = ask("SELECT name, count(*) AS n, min(span_id) AS id, NULL AS x FROM spans GROUP BY 1"
		" ORDER BY 1;");
	CHECK_STR(t.text, "name:VARCHAR n:BIGINT id:VARCHAR x:INTEGER "
			  "a 1 0000000000000001 none b 2 0000000000000002 none ");
	CHECK_EQ(t.warnings, 0);
	t = ask("SELECT sum(count)::INTEGER AS n, part FROM sums GROUP BY part -- all");
	CHECK_STR(t.text, "n:INTEGER part:VARCHAR 3 duration ");
	store_options = (struct store_options){.dir = dir_name};
	drop(s);
}

TEST(sums_tell_what_was_not_seen)
{
	static const struct received_resource called = {.service = "called"};
	static const struct attribute stands_for = {
		.key = "fathom.stands_for", .type = VALUE_INTEGER, .integer = 33};
	struct store *s = open_empty();
	struct received_span spans[] = {make(1, 1, "a"), make(1, 2, "b")};
	struct taken t;

	spans[1].parent_id = 1;
	spans[1].resource = &called;
	spans[1].attributes = (struct received_list){&stands_for, 1, 0};
	append(s, spans, 2);
	commit(s, 1);
	t = ask("SELECT part, sum(count)::INTEGER AS n FROM sums GROUP BY 1 ORDER BY 1");
	CHECK_STR(t.text, "part:VARCHAR n:INTEGER duration 34 unseen 32 ");
	t = ask("SELECT sum(count)::INTEGER AS n FROM calls");
	CHECK_STR(t.text, "n:INTEGER 33 ");
	drop(s);
}

/* Another process has the store: it says so, and ends with its socket. */
static pid_t holder_start(int *out)
{
	struct received_span span = make(1, 1, "held");
	int fds[2];
	char byte = 0;
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		struct store *s = reopen();

		close(fds[1]);
		append(s, &span, 1);
		commit(s, 1);
		_exit(write(fds[0], &byte, 1) != 1 || read(fds[0], &byte, 1) != 0);
	}
	close(fds[0]);
	CHECK_EQ(read(fds[1], &byte, 1), 1);
	*out = fds[1];
	return pid;
}

TEST(a_file_that_another_process_writes_is_copied)
{
	struct taken t;
	int fd, status;
	pid_t pid;

	store_close(open_empty());
	pid = holder_start(&fd);
	t = ask("SELECT count(*) AS n FROM spans");
	CHECK_STR(t.text, "n:BIGINT 1 ");
	CHECK_EQ(t.copied, 1);
	close(fd);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	drop(NULL);
}

TEST(a_file_that_is_no_store_is_left_out)
{
	struct store *s = open_empty();
	struct received_span span = make(1, 1, "a");
	char path[160];
	FILE *file;
	struct taken t;

	append(s, &span, 1);
	commit(s, 1);
	store_close(s);
	snprintf(path, sizeof(path), "%s/spans-000007.duckdb", dir_name);
	file = fopen(path, "w");
	CHECK(file != NULL);
	for (int i = 0; i < 20000; i++)
		fputc('x', file);
	fclose(file);
	t = ask("SELECT count(*) AS n FROM spans");
	CHECK_STR(t.text, "n:BIGINT 1 ");
	CHECK_EQ(t.warnings, 1);
	drop(NULL);
}

TEST(kernel_spans_are_in_a_view_of_their_own)
{
	static const struct attribute kind[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "wait"}};
	struct received_span spans[] = {make(1, 1, "request"), make(1, 2, "lock")};
	struct store *s = open_empty();
	struct taken t;

	spans[1].parent_id = 1;
	spans[1].attributes = (struct received_list){kind, 1, 0};
	append(s, spans, 2);
	commit(s, 2);
	t = ask("SELECT name, parent_id FROM kernel UNION ALL SELECT name, '-' FROM spans"
		" ORDER BY 1");
	CHECK_STR(t.text, "name:VARCHAR parent_id:VARCHAR lock 0000000000000001 request - ");
	drop(s);
}

/* What tells the time of a span of `make()`: the same ids, begin and kind, and a split. */
TEST(a_span_and_what_tells_its_time_are_one_row)
{
	static const struct attribute own[] = {
		{.key = "user", .type = VALUE_STRING, .string = "ann"}};
	static const struct attribute told[] = {
		{.key = "fathom.kind", .type = VALUE_STRING, .string = "context"},
		{.key = "fathom.version", .type = VALUE_INTEGER, .integer = 7},
		{.key = "fathom.join", .type = VALUE_STRING, .string = "thread"},
		{.key = "fathom.time.lock_ns", .type = VALUE_INTEGER, .integer = 5}};
	struct received_span spans[] = {make(1, 1, "a"), make(1, 1, "a"), make(2, 2, "a"),
					make(3, 3, "b")};
	struct store *s = open_empty();
	struct taken t;

	spans[0].attributes = (struct received_list){own, 1, 0};
	spans[1].attributes = (struct received_list){told, 4, 0};
	spans[2].attributes = (struct received_list){told, 4, 0}; /* nobody sent it */
	for (size_t i = 0; i < 4; i++)
		spans[i].end_ns = spans[i].begin_ns + 100;
	append(s, spans, 4);
	commit(s, 4);
	t = ask("SELECT trace_id[-1:] AS id, version, lock_ns, unknown_ns,"
		" attributes->>'user' AS u, attributes->>'fathom.kind' AS k,"
		" attributes->>'fathom.join' AS j FROM spans ORDER BY 1");
	CHECK_STR(t.text, "id:VARCHAR version:UBIGINT lock_ns:UBIGINT unknown_ns:UBIGINT u:VARCHAR"
			  " k:VARCHAR j:VARCHAR 1 7 5 95 ann none thread 2 7 5 0 none context"
			  " thread 3 0 0 0 none none none ");
	drop(s);
}

static void refuse(const char *sql, const char *why)
{
	struct taken taken = {.bytes = 0};
	const struct sql_taker taker = {columns_take, row_take, warning_take, &taken, copies_take};
	struct error e = {0};

	CHECK(store_sql(dir_name, sql, &taker, &e) < 0);
	CHECK_STR(e.text, why);
}

TEST(views_tell_of_themselves_and_reasons_are_one_line)
{
	struct store *s = open_empty();
	struct taken t;

	t = ask(" DESCRIBE operations; ");
	CHECK(strstr(t.text, "kind VARCHAR YES") != NULL);
	refuse("DROP TABLE spans",
	       "only a SELECT is answered, and what tells of views: DESCRIBE spans");
	refuse("SELECT begin FROM calls, sums",
	       "DuckDB: Binder Error: Ambiguous reference to column name \"begin\" (use: "
	       "\"calls.begin\" or \"sums.begin\")");
	refuse("SELECT (", "DuckDB: Parser Error: syntax error at or near \")\"");
	drop(s);
}

TEST_MAIN()
