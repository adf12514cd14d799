/* SPDX-License-Identifier: Apache-2.0 */
/* What does not fit into the memory of DuckDB. */
#include <fcntl.h>
#include <sys/stat.h>

#include "store/internal.h"
#include "tests/unit/store/spans.h"

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

TEST_MAIN()
