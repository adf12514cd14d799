/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a store, and what does not fit into it. */
#include <fcntl.h>
#include <sys/stat.h>

#include "store/internal.h"
#include "tests/unit/store/spans.h"

#define LONG_BYTES 135000
#define LONG_SPANS 2100u
#define COMMIT_BYTES ((size_t)64 << 20)
#define SHORT_BYTES 2000
#define GROUPS 7u

static void run(struct store *s, const char *sql)
{
	struct error e = {0};

	if (sql_run(&s->db, s->writer, sql, NULL, &e))
		CHECK_FAIL("%s", e.text);
}

/* More than its memory. */
static void sort(struct store *s)
{
	run(s, "SET memory_limit = '64MB'");
	run(s, "CREATE TEMP TABLE sorted AS SELECT hash(i)::VARCHAR || repeat('x', 100) AS t"
	       " FROM range(1000000) r(i) ORDER BY t");
}

static bool is_in(const char *name)
{
	char path[120];

	snprintf(path, sizeof(path), "%s/%s", dir_name, name);
	return access(path, F_OK) == 0;
}

TEST(what_does_not_fit_into_memory_goes_beside_the_files)
{
	struct store_options before = store_options;
	struct store *s;
	char path[40];
	int fd;

	for (unsigned int by_descriptor = 0; by_descriptor < 2; by_descriptor++) {
		store_close(open_empty());
		fd = open(dir_name, O_PATH | O_DIRECTORY);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (by_descriptor)
			store_options.dir = path;
		s = reopen();
		sort(s);
		CHECK(is_in("duckdb.tmp"));
		store_options = before;
		store_close(s);
		CHECK(!is_in("duckdb.tmp"));
		close(fd);
	}
	drop(NULL);
}

/* By a process that was killed. */
TEST(what_was_left_beside_the_files_goes_when_the_store_is_opened)
{
	char path[120];

	store_close(open_empty());
	snprintf(path, sizeof(path), "%s/duckdb.tmp", dir_name);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/duckdb.tmp/duckdb_temp_storage_DEFAULT-0.tmp", dir_name);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	CHECK(is_in("duckdb.tmp/duckdb_temp_storage_DEFAULT-0.tmp"));
	store_close(reopen());
	CHECK(!is_in("duckdb.tmp"));
	drop(NULL);
}

/* Letters without an order. */
static void letters_fill(char *text, size_t bytes, uint64_t *state)
{
	for (size_t i = 0; i + 1 < bytes; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		text[i] = (char)('0' + (*state >> 58));
	}
}

/* Rows of a vector are in memory together: they may not take all of it. */
TEST(spans_with_long_texts_are_stored)
{
	static char text[LONG_BYTES];
	struct store *s = open_empty();
	uint64_t state = 1, position = 0;

	for (uint64_t i = 1; i <= LONG_SPANS; i++) {
		struct received_span span = make(i, 1, "a");

		letters_fill(text, LONG_BYTES, &state);
		span.trace_state = text;
		append(s, &span, 1);
		if (store_pending_bytes(s) >= COMMIT_BYTES || i == LONG_SPANS)
			commit(s, ++position);
	}
	run(s, "CHECKPOINT");
	for (uint64_t i = 1; i <= LONG_SPANS; i += 300)
		CHECK_EQ(found(s, i), 1);
	CHECK(s->files.count > 2 && s->files.count < 12);
	drop(s);
}

static int number_take(void *arg, const struct row *row)
{
	*(uint64_t *)arg = row_number(row, 0);
	return 0;
}

static uint64_t used_bytes(struct store *s)
{
	uint64_t number = 0;
	const struct row_taker taker = {number_take, &number, 1};

	CHECK_EQ(sql_run(&s->db, s->writer,
			 "SELECT sum(memory_usage_bytes)::UBIGINT FROM duckdb_memory()", &taker,
			 NULL),
		 0);
	return number;
}

/* A file of other spans goes on, and what was written goes out of memory. */
TEST(many_spans_take_no_more_memory)
{
	static struct received_span spans[STORE_GROUP_SPANS];
	static char texts[STORE_GROUP_SPANS][SHORT_BYTES];
	struct store *s = open_empty();
	uint64_t state = 1;

	for (uint64_t group = 0; group < GROUPS; group++) {
		for (size_t i = 0; i < STORE_GROUP_SPANS; i++) {
			letters_fill(texts[i], SHORT_BYTES, &state);
			spans[i] = make(1 + group * STORE_GROUP_SPANS + i, 1, "a");
			spans[i].trace_state = texts[i];
		}
		append(s, spans, STORE_GROUP_SPANS);
		commit(s, group + 1);
	}
	CHECK(used_bytes(s) <= 256000000);
	CHECK_EQ(s->files.count, 1);
	drop(s);
}

static int known_is(struct known *k, uint64_t number)
{
	const struct received_span span = make(number, number, "a");
	const struct told told = {0};
	struct known_version old;

	return known_ask(k, &span, &told, &old);
}

/* The oldest go first; the youngest are known. */
TEST(ids_that_are_known_are_bounded)
{
	struct known k = {.turn_ns = UINT64_MAX};
	size_t bytes = 0;

	CHECK_EQ(known_is(&k, 1), KNOWN_NEW);
	known_committed(&k);
	for (uint64_t i = 1; i <= (uint64_t)(KNOWN_AGES + 1) * KNOWN_SPANS_MAX; i++) {
		CHECK_EQ(known_ids_add(&k.fresh, hash_u64(i) | 1, 1), 0);
		if (i == (uint64_t)KNOWN_AGES * KNOWN_SPANS_MAX / 2)
			CHECK_EQ(known_is(&k, 2), KNOWN_NEW);
		if (i % 100000 == 0)
			known_committed(&k);
	}
	for (size_t i = 0; i < KNOWN_AGES; i++)
		bytes += k.ages[i].capacity * (sizeof(*k.ages->data) + sizeof(*k.ages->services));
	CHECK(bytes <= (size_t)84 << 20);
	CHECK_EQ(known_is(&k, 2), KNOWN_REPEAT);
	CHECK_EQ(known_is(&k, 1), KNOWN_NEW);
	known_free(&k);
}

TEST_MAIN()
