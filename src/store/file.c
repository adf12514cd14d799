/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/columns.h"
#include "store/span_sums.h"

#define SCHEMA_VERSION 8
#define SCHEMA_TEXT "8"
#define OLDEST_VERSION 2 /* that is opened */
#define TEXT_OF(number) #number
#define NUMBER_TEXT(number) TEXT_OF(number)
#define GROUP_TEXT NUMBER_TEXT(STORE_GROUP_SPANS)
#define GROW_SPANS_MAX 1000000u /* a column takes time for each span that is there */
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const schema[] = {
	"CREATE TABLE IF NOT EXISTS spans(" SPAN_COLUMNS_MADE ")",
	"CREATE TABLE IF NOT EXISTS kernel(" SPAN_COLUMNS_MADE ")",
	"CREATE TABLE IF NOT EXISTS texts(id UBIGINT NOT NULL, text VARCHAR NOT NULL)",
	"CREATE TABLE IF NOT EXISTS operations(service VARCHAR NOT NULL, name VARCHAR NOT NULL,"
	" kind UTINYINT NOT NULL, id UBIGINT)",
	SUMS_TABLE("sums"),
	SUMS_TABLE("sums_fresh"),
	SUMS_TABLE("sums_minutes"),
	"CREATE TABLE IF NOT EXISTS newer(trace UHUGEINT NOT NULL, span UBIGINT NOT NULL,"
	" version UBIGINT NOT NULL)",
	"CREATE TABLE IF NOT EXISTS typed(place UBIGINT NOT NULL, key VARCHAR NOT NULL)",
	"CREATE TABLE IF NOT EXISTS filter(words BLOB NOT NULL)",
	"CREATE TABLE IF NOT EXISTS progress(version UBIGINT NOT NULL, position UBIGINT NOT NULL,"
	" created_ns UBIGINT, least_ns UBIGINT, greatest_ns UBIGINT, spans UBIGINT,"
	" passed UBIGINT)",
};

#define P(part, value, what) "ALTER TABLE spans ADD COLUMN " #part "_ns UBIGINT DEFAULT 0",
static const char *const from_2[] = {
	"ALTER TABLE operations ADD COLUMN id UBIGINT", "UPDATE operations SET id = rowid + 1",
	"ALTER TABLE spans ADD COLUMN version UBIGINT DEFAULT 0", SPLIT_PARTS(P)};
#undef P
static const char *const from_3[] = {
	"ALTER TABLE progress ADD COLUMN created_ns UBIGINT DEFAULT 0",
	"ALTER TABLE progress ADD COLUMN least_ns UBIGINT",
	"ALTER TABLE progress ADD COLUMN greatest_ns UBIGINT",
	"ALTER TABLE progress ADD COLUMN spans UBIGINT",
	"UPDATE progress SET"
	" least_ns = (SELECT coalesce(min(begin_ns), 18446744073709551615) FROM spans),"
	" greatest_ns = (SELECT coalesce(max(begin_ns), 0) FROM spans),"
	" spans = (SELECT count(*) FROM spans)",
};
#define TEXT(name) "ALTER TABLE spans ADD COLUMN " #name " VARCHAR DEFAULT ''",
#define NUMBER(name) "ALTER TABLE spans ADD COLUMN " #name " UBIGINT DEFAULT 0",
static const char *const from_5[] = {
	TYPED_TEXT_COLUMNS(TEXT)
		TYPED_NUMBER_COLUMNS(NUMBER) "INSERT INTO newer SELECT trace, span, max(version) "
					     "FROM spans WHERE version > 0"
					     " GROUP BY trace, span HAVING count(*) > 1",
};
#undef TEXT
#undef NUMBER
static const char *const from_6[] = {
	"ALTER TABLE progress ADD COLUMN IF NOT EXISTS passed UBIGINT DEFAULT 0",
	"UPDATE progress SET version = " SCHEMA_TEXT,
};

struct store_file *store_file_new(const char *dir, uint64_t number)
{
	struct store_file *f = calloc(1, sizeof(*f));
	int n = -1;

	if (f && number)
		n = asprintf(&f->path, "%s/spans-%06" PRIu64 ".duckdb", dir, number);
	else if (f)
		n = asprintf(&f->path, "%s/" STORE_OLD_NAME, dir);
	if (n < 0) {
		free(f);
		return NULL;
	}
	f->number = number;
	return f;
}

void store_file_name(char name[FILE_NAME_BYTES], const struct store_file *f)
{
	snprintf(name, FILE_NAME_BYTES, "f%" PRIu64, f->number);
}

int store_file_use(const struct store_file *f, struct database *db, duckdb_connection connection,
		   struct error *e)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "USE f%" PRIu64, f->number);
	return sql_run(db, connection, sql, NULL, e);
}

static int number_take(void *arg, const struct row *row)
{
	*(uint64_t *)arg = row_number(row, 0);
	return 0;
}

static int progress_take(void *arg, const struct row *row)
{
	struct store_file *f = arg;

	__atomic_store_n(&f->position, row_number(row, 0), __ATOMIC_RELAXED);
	__atomic_store_n(&f->created_ns, row_number(row, 1), __ATOMIC_RELAXED);
	__atomic_store_n(&f->least_ns, row_number(row, 2), __ATOMIC_RELAXED);
	__atomic_store_n(&f->greatest_ns, row_number(row, 3), __ATOMIC_RELAXED);
	__atomic_store_n(&f->spans, row_number(row, 4), __ATOMIC_RELAXED);
	f->has_minutes = row_number(row, 5);
	__atomic_store_n(&f->kernel, row_number(row, 6), __ATOMIC_RELAXED);
	f->version = row_number(row, 7);
	return 0;
}

/* Runs statements in one transaction. */
static int all_run(const char *const *statements, size_t count, struct database *db,
		   duckdb_connection connection, struct error *e)
{
	int err = sql_run(db, connection, "BEGIN", NULL, e);

	for (size_t i = 0; i < count && !err; i++)
		err = sql_run(db, connection, statements[i], NULL, e);
	if (!err)
		return sql_run(db, connection, "COMMIT", NULL, e);
	sql_run(db, connection, "ROLLBACK", NULL, NULL);
	return err;
}

/* The version of the schema, 0 in an empty file. */
static int version_read(const struct store_file *f, struct database *db,
			duckdb_connection connection, uint64_t *version, struct error *e)
{
	const struct row_taker taker = {number_take, version, 1};
	int err;

	*version = 0;
	err = sql_run(db, connection,
		      "SELECT count(*)::UBIGINT FROM duckdb_tables() WHERE table_name = 'progress'"
		      " AND database_name = current_database()",
		      &taker, e);
	if (err || !*version)
		return err;
	*version = 0;
	err = sql_run(db, connection, "SELECT version FROM progress", &taker, e);
	if (!err && *version > SCHEMA_VERSION)
		return error_say(e, EPROTONOSUPPORT, "the store %s was written by a newer fathom",
				 f->path);
	if (!err && *version && *version < OLDEST_VERSION)
		return error_say(e, EPROTONOSUPPORT,
				 "the store %s was written by an older fathom: remove it", f->path);
	return err;
}

void store_file_layout(struct store_file *f, const struct layout *layout)
{
	f->layout = *layout;
	__atomic_store_n(&f->has_parts, layout->first_part > 0, __ATOMIC_RELEASE);
}

static int progress_read(struct store_file *f, struct database *db, duckdb_connection connection,
			 struct error *e)
{
	const struct row_taker taker = {progress_take, f, 8}, newer = {number_take, &f->newer, 1};
	struct layout layout;
	int err = sql_run(db, connection,
			  "SELECT position, created_ns, least_ns, greatest_ns, spans,"
			  " (SELECT count(*)::UBIGINT FROM filter),"
			  " (SELECT count(*)::UBIGINT FROM kernel), version FROM progress",
			  &taker, e);

	err = err ? err : layout_load(&layout, db, connection, e);
	if (!err)
		store_file_layout(f, &layout);
	if (!err && f->version >= FILE_VERSION_TYPED)
		err = sql_run(db, connection, "SELECT count(*)::UBIGINT FROM newer", &newer, e);
	return err || f->version < FILE_VERSION_TYPED ? err
						      : typed_load(&f->typed, db, connection, e);
}

static int row_make(const struct store_file *before, struct database *db,
		    duckdb_connection connection, struct error *e)
{
	struct statement insert = {0};
	struct timespec now;
	int err;

	clock_gettime(CLOCK_REALTIME, &now);
	statement_add(&insert,
		      "INSERT INTO progress(version, position, passed, created_ns, least_ns,"
		      " greatest_ns, spans) SELECT " SCHEMA_TEXT ", ?, ?, ?, ?, 0, 0"
		      " WHERE NOT EXISTS (FROM progress)");
	statement_bind_number(&insert, before ? before->position : 0);
	statement_bind_number(&insert, before ? before->passed : 0);
	statement_bind_number(&insert, (uint64_t)now.tv_sec * 1000000000u);
	statement_bind_number(&insert, UINT64_MAX);
	err = statement_run(db, connection, &insert, NULL, e);
	statement_free(&insert);
	return err;
}

/* Spans with a split are expected. */
static int parts_make(struct store_file *f, struct database *db, duckdb_connection connection,
		      struct error *e)
{
	struct layout layout = f->layout;
	int err = sql_run(db, connection, "BEGIN", NULL, e);

	err = err ? err : layout_add_parts(&layout, db, connection, e);
	err = err ? err : sql_run(db, connection, "COMMIT", NULL, e);
	if (!err)
		store_file_layout(f, &layout);
	else
		sql_run(db, connection, "ROLLBACK", NULL, NULL);
	return err;
}

int store_file_schema(struct store_file *f, const struct store_file *before, struct database *db,
		      duckdb_connection connection, struct error *e)
{
	const struct row_taker passed = {number_take, &f->passed, 1};
	uint64_t version;
	int err = version_read(f, db, connection, &version, e);

	if (!err && version != SCHEMA_VERSION)
		err = all_run(schema, COUNT(schema), db, connection, e);
	if (!err && version == 2)
		err = all_run(from_2, COUNT(from_2), db, connection, e);
	if (!err && version && version < 4)
		err = all_run(from_3, COUNT(from_3), db, connection, e);
	if (!err && version && version < FILE_VERSION_TYPED)
		err = all_run(from_5, COUNT(from_5), db, connection, e);
	if (!err && version && version < SCHEMA_VERSION)
		err = all_run(from_6, COUNT(from_6), db, connection, e);
	err = err ? err : row_make(before, db, connection, e);
	err = err ? err : progress_read(f, db, connection, e);
	if (!err && !version && before && before->has_parts)
		err = parts_make(f, db, connection, e);
	return err ? err : sql_run(db, connection, "SELECT passed FROM progress", &passed, e);
}

/* Gives a wanted key its place, and its column: older files have all columns. */
static int key_add(struct store_file *f, unsigned int i, struct database *db,
		   duckdb_connection connection, struct error *e)
{
	struct layout layout = f->layout;
	int place = typed_next(&f->typed, i);
	int err = sql_run(db, connection, "BEGIN", NULL, e);

	if (!err && !layout.typed[place])
		err = layout_add_typed(&layout, place, db, connection, e);
	err = err ? err : typed_store(&f->typed, i, db, connection, e);
	err = err ? err : sql_run(db, connection, "COMMIT", NULL, e);
	if (err) {
		sql_run(db, connection, "ROLLBACK", NULL, NULL);
		return err;
	}
	store_file_layout(f, &layout);
	typed_give(&f->typed, i);
	return 0;
}

int store_file_grow(struct store_file *f, struct database *db, duckdb_connection connection,
		    struct error *e)
{
	unsigned int wanted = f->spans < GROW_SPANS_MAX ? f->typed.wanted : 0;
	int err = 0;

	f->typed.wanted = 0;
	for (unsigned int i = 0; i < wanted && !err; i++) {
		if (typed_next(&f->typed, i) != TYPED_NONE)
			err = key_add(f, i, db, connection, e);
	}
	return err;
}

int store_file_attach(struct store_file *f, bool is_written, struct database *db,
		      duckdb_connection connection, struct error *e)
{
	struct statement s = {0};
	char name[FILE_NAME_BYTES];
	int err;

	store_file_name(name, f);
	statement_add(&s, "ATTACH ");
	statement_add_quoted(&s, f->path);
	statement_add(&s, " AS ");
	statement_add(&s, name);
	statement_add(&s, is_written ? " (STORAGE_VERSION 'latest', ROW_GROUP_SIZE " GROUP_TEXT ")"
				     : " (READ_ONLY)");
	err = statement_run(db, connection, &s, NULL, e);
	statement_free(&s);
	if (!err)
		f->is_written = is_written;
	if (err || is_written)
		return err;
	err = store_file_use(f, db, connection, e);
	return err ? err : progress_read(f, db, connection, e);
}

void store_file_detach(struct store_file *f, struct database *db, duckdb_connection connection)
{
	char name[FILE_NAME_BYTES], sql[64];

	store_file_name(name, f);
	snprintf(sql, sizeof(sql), "DETACH %s", name);
	sql_run(db, connection, "USE memory", NULL, NULL);
	sql_run(db, connection, sql, NULL, NULL);
}

int store_file_progress_write(const struct store_file *f, struct database *db,
			      duckdb_connection connection, struct error *e)
{
	struct statement update = {0};
	int err;

	statement_add(&update, "UPDATE progress SET position = ?, passed = ?, least_ns = ?,"
			       " greatest_ns = ?, spans = ?");
	statement_bind_number(&update, f->position);
	statement_bind_number(&update, f->passed);
	statement_bind_number(&update, f->least_ns);
	statement_bind_number(&update, f->greatest_ns);
	statement_bind_number(&update, f->spans);
	err = statement_run(db, connection, &update, NULL, e);
	statement_free(&update);
	return err;
}

static int words_take(void *arg, const struct row *row)
{
	struct store_file *f = arg;
	size_t bytes;
	const char *words = row_text(row, 0, &bytes);

	trace_filter_free(&f->filter);
	return trace_filter_get(&f->filter, words, bytes);
}

static int trace_take(void *arg, const struct row *row)
{
	struct store_file *f = arg;

	trace_filter_add(&f->filter, row_id(row, 0));
	return 0;
}

int store_file_filter_load(struct store_file *f, struct database *db, duckdb_connection connection,
			   struct error *e)
{
	const struct row_taker words = {words_take, f, 1}, traces = {trace_take, f, 1};
	int err = f->filter.words ? 0
				  : sql_run(db, connection, "SELECT words FROM filter", &words, e);

	if (err || f->filter.words)
		return err;
	err = trace_filter_begin(&f->filter);
	if (err)
		return error_set(e, err, "cannot open the store");
	return sql_run(db, connection, "SELECT trace FROM spans UNION SELECT trace FROM kernel",
		       &traces, e);
}

bool store_file_is_in(const struct store_file *f, uint64_t from_ns, uint64_t to_ns,
		      uint64_t around_ns)
{
	uint64_t least_ns = __atomic_load_n(&f->least_ns, __ATOMIC_RELAXED);
	uint64_t greatest_ns = __atomic_load_n(&f->greatest_ns, __ATOMIC_RELAXED);

	if (f->is_lost || least_ns > greatest_ns)
		return false;
	if (to_ns && to_ns < least_ns && least_ns - to_ns > around_ns)
		return false;
	return from_ns <= greatest_ns || from_ns - greatest_ns <= around_ns;
}

static uint64_t path_bytes(const char *path, const char *behind)
{
	char all[4200];
	struct stat st;

	snprintf(all, sizeof(all), "%s%s", path, behind);
	return stat(all, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

uint64_t store_file_wal_bytes(const struct store_file *f)
{
	return path_bytes(f->path, ".wal");
}

uint64_t store_file_bytes(const struct store_file *f)
{
	return path_bytes(f->path, "") + store_file_wal_bytes(f);
}

int store_file_remove(const struct store_file *f)
{
	char wal[4200];

	snprintf(wal, sizeof(wal), "%s.wal", f->path);
	if (unlink(wal) && errno != ENOENT)
		return -errno;
	return unlink(f->path) && errno != ENOENT ? -errno : 0;
}

void store_file_free(struct store_file *f)
{
	if (!f)
		return;
	trace_filter_free(&f->filter);
	free(f->path);
	free(f);
}

void store_files_free(struct store_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		store_file_free(files->data[i]);
	vec_free(files);
}
