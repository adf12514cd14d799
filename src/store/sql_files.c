/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"
#include "store/columns.h"
#include "store/internal.h"

#define HEADERS_BYTES 12288 /* of a database, which change with each checkpoint */
#define ATTEMPTS 10

/* Signals that end a program. They wait until no copy has a name, or they would leave it. */
static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};

static void ends_hold(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&held, ends[i]);
	pthread_sigmask(SIG_BLOCK, &held, before);
}

/* Whether one of them waits, so that nobody needs the copies. */
static bool end_waits(void)
{
	sigset_t waiting;
	bool any = false;

	if (sigpending(&waiting))
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		any |= sigismember(&waiting, ends[i]) == 1;
	return any;
}

/* Copies a file, or shares its blocks where the disk can; one that is not there is none. */
static int bytes_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, err = 0;
	ssize_t n = 1;

	if (in < 0)
		return errno == ENOENT ? 0 : -errno;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		err = -errno;
	if (!err && ioctl(out, FICLONE, in) == 0)
		n = 0;
	while (!err && n > 0) {
		n = sendfile(out, in, NULL, (size_t)64 << 20);
		if (n < 0)
			err = -errno;
		else if (end_waits())
			err = -EINTR;
	}
	if (out >= 0)
		close(out);
	close(in);
	return err;
}

static int headers_read(const char *path, unsigned char headers[HEADERS_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, headers, HEADERS_BYTES, 0);
	int err = n == HEADERS_BYTES ? 0 : n < 0 ? -errno : -EIO;

	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Copies a database that is being written. Its blocks are never written over, but by a checkpoint,
 * which changes the headers; what is behind the last checkpoint is in the write-ahead log.
 */
static int database_copy(const char *from, const char *to)
{
	unsigned char before[HEADERS_BYTES], after[HEADERS_BYTES];
	char from_wal[4200], to_wal[4200];
	int err = -EAGAIN;

	snprintf(from_wal, sizeof(from_wal), "%s.wal", from);
	snprintf(to_wal, sizeof(to_wal), "%s.wal", to);
	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		unlink(to_wal);
		err = headers_read(from, before);
		err = err ? err : bytes_copy(from, to);
		err = err ? err : bytes_copy(from_wal, to_wal);
		err = err ? err : headers_read(from, after);
		if (!err && memcmp(before, after, sizeof(before)) != 0)
			err = -EAGAIN;
	}
	return err;
}

/* A directory of copies in a parent. */
static int copies_make_in(struct sql_files *files, const char *parent)
{
	int err;

	if (asprintf(&files->copies, "%s/fathom-sql-XXXXXX", parent) < 0) {
		files->copies = NULL;
		return -ENOMEM;
	}
	if (mkdtemp(files->copies))
		return 0;
	err = -errno;
	free(files->copies);
	files->copies = NULL;
	return err;
}

/* Copies are large, and /tmp is in memory on many hosts. */
static int copies_make(struct sql_files *files, const char **parent)
{
	static const char *const parents[] = {"/var/tmp", "/tmp"};
	const char *chosen = getenv("TMPDIR");
	int err = -ENOENT;

	if (chosen && *chosen) {
		*parent = chosen;
		return copies_make_in(files, chosen);
	}
	for (size_t i = 0; i < 2 && err; i++) {
		*parent = parents[i];
		err = copies_make_in(files, parents[i]);
	}
	return err;
}

/* Shared blocks need no room, but nobody knows before. */
static int copy_begin(struct sql_files *files, const struct store_file *f, struct error *e)
{
	uint64_t bytes = store_file_bytes(f);
	const char *parent = files->copies;
	struct statvfs disk;
	char size[UNITS_TEXT_BYTES];
	int err = parent ? 0 : copies_make(files, &parent);

	if (err)
		return error_set(e, err, "cannot copy a file of the store into %s", parent);
	if (statvfs(files->copies, &disk) == 0 && disk.f_bavail * disk.f_frsize < bytes)
		return error_say(e, ENOSPC,
				 "a copy of the newest spans needs %s, and %s has less room; set "
				 "TMPDIR to another directory",
				 units_format_bytes(bytes, size), parent);
	if (files->taker->copies)
		files->taker->copies(files->taker->arg, bytes, files->copies);
	return 0;
}

/* Attaches a copy, in the schema of this version. */
static int copy_attach(struct sql_files *files, struct store_file *f, struct error *e)
{
	char name[FILE_NAME_BYTES], *path = NULL;
	int err = copy_begin(files, f, e);

	if (err)
		return err;
	store_file_name(name, f);
	if (!err && asprintf(&path, "%s/%s.duckdb", files->copies, name) < 0) {
		path = NULL;
		err = -ENOMEM;
	}
	err = err ? err : database_copy(f->path, path);
	if (path) {
		free(f->path);
		f->path = path;
	}
	if (err)
		return error_set(e, err, "cannot copy a file of the store");
	err = store_file_attach(f, true, &files->db, files->connection, e);
	err = err ? err : store_file_use(f, &files->db, files->connection, e);
	return err ? err : store_file_schema(f, 0, &files->db, files->connection, e);
}

static int one_attach(struct sql_files *files, struct store_file *f, struct error *e)
{
	struct error first = {0};

	if (store_file_attach(f, false, &files->db, files->connection, &first) == 0)
		return 0;
	store_file_detach(f, &files->db, files->connection);
	return copy_attach(files, f, e);
}

/* Removes the file if it is a copy. */
static void copy_remove(const struct sql_files *files, const struct store_file *f)
{
	if (files->copies && strncmp(f->path, files->copies, strlen(files->copies)) == 0)
		store_file_remove(f);
}

static void files_attach(struct sql_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->files.count; i++) {
		struct store_file *f = files->files.data[i];
		struct error e = {0};
		int err = one_attach(files, f, &e);

		copy_remove(files, f); /* DuckDB has it open */
		if (!err) {
			files->files.data[kept++] = f;
			continue;
		}
		store_file_detach(f, &files->db, files->connection);
		if (!end_waits())
			files->taker->warn(files->taker->arg, e.text);
		store_file_free(f);
	}
	files->files.count = kept;
	if (files->copies)
		rmdir(files->copies);
}

/* An attribute in a column as a member of JSON, or nothing. */
static void member_add(struct statement *s, const struct typed *typed, int place)
{
	const char *column = typed_column(place);
	bool is_text = place < TYPED_TEXTS;

	statement_add(s, is_text ? ", CASE WHEN " : ", CASE ");
	statement_add(s, column);
	statement_add(s, is_text ? " <> '' THEN concat(" : " WHEN 0 THEN '' ELSE concat(");
	statement_add(s, "'\"");
	for (const char *at = typed->keys[place]; *at; at++) {
		const char one[] = {*at, '\0'};

		statement_add(s, *at == '\'' ? "''" : one);
	}
	statement_add(s, is_text ? "\":\"', " : "\":', ");
	statement_add(s, column);
	statement_add(s, is_text ? ", '\"') ELSE '' END" : " - 1) END");
}

/* All attributes in one text: those of the column of that name first. */
static void attributes_add(struct statement *s, const struct typed *typed)
{
	if (!typed->texts && !typed->numbers) {
		statement_add(s, "attributes");
		return;
	}
	statement_add(s, "concat('{', array_to_string(list_filter(["
			 "substring(attributes, 2, length(attributes) - 2)");
	for (unsigned int i = 0; i < typed->texts; i++)
		member_add(s, typed, (int)i);
	for (unsigned int i = 0; i < typed->numbers; i++)
		member_add(s, typed, (int)(TYPED_TEXTS + i));
	statement_add(s, "], lambda x: x <> ''), ','), '}') AS attributes");
}

/* The columns of spans, with the texts of resource and scope. */
static void columns_add(struct statement *s, const struct store_file *f)
{
#define P(part, value, what) ", " #part "_ns"
#define NONE(part, value, what) ", 0::UBIGINT AS " #part "_ns"
	statement_add(s,
		      "trace, span, parent, begin_ns, duration_ns, service, name, kind, status, ");
	attributes_add(s, &f->typed);
	statement_add(s, ", r.text AS resource, c.text AS scope, rest, version");
	statement_add(s, f->has_parts ? SPLIT_PARTS(P) : SPLIT_PARTS(NONE));
#undef P
#undef NONE
}

/*
 * Adds the same query over each file; "@" stands for the name of the file, and "#" for the columns
 * of its spans.
 */
static void union_add(struct statement *s, const struct sql_files *files, const char *query)
{
	for (size_t i = 0; i < files->files.count; i++) {
		char name[FILE_NAME_BYTES];

		store_file_name(name, files->files.data[i]);
		statement_add(s, i ? " UNION ALL " : "");
		for (const char *at = query; *at; at++) {
			const char one[] = {*at, '\0'};

			if (*at == '#')
				columns_add(s, files->files.data[i]);
			else
				statement_add(s, *at == '@' ? name : one);
		}
	}
}

static int view_make(struct sql_files *files, const char *before, const char *query,
		     const char *after, struct error *e)
{
	struct statement s = {0};
	int err;

	statement_add(&s, before);
	union_add(&s, files, query);
	statement_add(&s, after);
	err = statement_run(&files->db, files->connection, &s, NULL, e);
	statement_free(&s);
	return err;
}

#define KIND                                                                                       \
	"['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'][kind::INTEGER + " \
	"1] AS "                                                                                   \
	"kind"
#define BEGIN "make_timestamp((begin_ns // 1000)::BIGINT) AS begin, begin_ns"
#define IDS                                                                                        \
	"lower(lpad(hex(trace), 32, '0')) AS trace_id,"                                            \
	" lower(lpad(hex(span), 16, '0')) AS span_id,"                                             \
	" CASE parent WHEN 0 THEN NULL ELSE lower(lpad(hex(parent), 16, '0')) END AS parent_id"
#define SUMS                                                                                       \
	"SELECT s.*, service, name, kind FROM (FROM @.sums UNION ALL FROM @.sums_fresh) s"         \
	" JOIN @.operations ON operation = id"
#define P(part, value, what) ", " #part "_ns"
#define PART(part, value, what) "'" #part "', "

/*
 * A received span that was joined has two rows: itself, and one with a version that tells its time:
 * of its begin and kind, or of the context that its program published, which has no fathom.join.
 * They are one row here, as in other answers (serve/join.c). What the view names several times is
 * not materialized: a query reads only the columns and rows that it needs.
 */
#define IS_TOLD                                                                                    \
	"r.trace = t.trace AND r.span = t.span"                                                    \
	" AND t.attributes LIKE '%\"fathom.kind\":\"context\"%'"                                   \
	" AND (r.begin_ns = t.begin_ns AND r.kind = t.kind"                                        \
	" OR t.attributes NOT LIKE '%\"fathom.join\"%')"
#define PART_TOLD(part, value, what) ", coalesce(t." #part "_ns, r." #part "_ns) AS " #part "_ns"
#define PART_PLUS(part, value, what) " + " #part "_ns::HUGEINT"
#define PARTS_NS "(0" SPLIT_PARTS(PART_PLUS) ")"
#define ATTRIBUTES_TOLD                                                                            \
	"CASE WHEN t.span IS NULL THEN r.attributes ELSE json_merge_patch(r.attributes,"           \
	" '{\"fathom.join\":\"context\"}', t.attributes, '{\"fathom.kind\":null,"                  \
	"\"fathom.begin\":null,\"fathom.end\":null}')::VARCHAR END AS attributes"
/* Where one thread had the span, its parts sum to its duration. */
#define UNKNOWN_OF_ALL                                                                             \
	"CASE WHEN of_one AND " PARTS_NS " > 0 THEN"                                               \
	" greatest(duration_ns - (" PARTS_NS " - unknown_ns), 0)::UBIGINT"                         \
	" ELSE unknown_ns END AS unknown_ns"

static int spans_view_make(struct sql_files *files, struct error *e)
{
	return view_make(
		files, "CREATE VIEW spans AS WITH stored AS NOT MATERIALIZED (",
		"SELECT # FROM @.spans s"
		" LEFT JOIN @.texts r ON s.resource = r.id LEFT JOIN @.texts c ON s.scope = c.id",
		"), received AS NOT MATERIALIZED (FROM stored WHERE version = 0),"
		" told AS NOT MATERIALIZED (FROM stored WHERE version > 0"
		" QUALIFY row_number() OVER (PARTITION BY trace, span ORDER BY version DESC) = 1),"
		" joined AS NOT MATERIALIZED (SELECT r.* REPLACE (" ATTRIBUTES_TOLD
		", coalesce(t.version, 0) AS version" SPLIT_PARTS(
			PART_TOLD) "), t.attributes NOT LIKE '%\"fathom.threads\"%' AS of_one"
				   " FROM received r LEFT JOIN told t ON " IS_TOLD
				   " UNION ALL SELECT t.*, false FROM told t"
				   " WHERE NOT EXISTS (SELECT 1 FROM received r WHERE " IS_TOLD "))"
				   " SELECT " IDS ", " BEGIN ", duration_ns, service, name, " KIND
				   ", ['unset', 'ok', 'error'][status::INTEGER + 1] AS status, "
				   "attributes,"
				   " resource, scope, rest, version" SPLIT_PARTS(
					   P) " FROM (SELECT * REPLACE (" UNKNOWN_OF_ALL
					      ") FROM joined)",
		e);
}

static int views_make(struct sql_files *files, struct error *e)
{
	int err = spans_view_make(files, e);

	if (!err)
		err = view_make(
			files,
			"CREATE VIEW kernel AS SELECT " IDS ", " BEGIN
			", duration_ns, service, name, attributes, resource, version FROM (",
			"SELECT s.* REPLACE (r.text AS resource) FROM @.kernel s"
			" LEFT JOIN @.texts r ON s.resource = r.id",
			") QUALIFY row_number() OVER (PARTITION BY trace, span ORDER BY version "
			"DESC)"
			" = 1",
			e);
	if (!err)
		err = view_make(files,
				"CREATE VIEW operations AS SELECT DISTINCT service, name, " KIND
				" FROM (",
				"FROM @.operations", ") WHERE kind < 255", e);
	if (!err)
		err = view_make(
			files,
			"CREATE VIEW sums AS SELECT " BEGIN ", step_ns, service,"
			" name AS operation, " KIND ", error <> 0 AS error,"
			" coalesce([" SPLIT_PARTS(PART) "NULL][part::INTEGER + 1],"
							" CASE part WHEN 254 THEN 'unseen' ELSE"
							" 'duration' END)"
							" AS part, count, total_ns, max_ns FROM (",
			SUMS, ") WHERE kind < 255", e);
	if (!err)
		err = view_make(files,
				"CREATE VIEW calls AS SELECT " BEGIN ", step_ns, service AS parent,"
				" name AS child, error <> 0 AS error, count, total_ns FROM (",
				SUMS, ") WHERE kind = 255 AND part = 255", e);
	return err;
}
#undef P
#undef PART

static int all_open(struct sql_files *files, struct error *e)
{
	int err = database_connect(&files->db, &files->connection, e);

	if (err)
		return err;
	files_attach(files);
	if (!files->files.count)
		return error_say(e, EIO, "no file of the store can be read");
	err = sql_run(&files->db, files->connection, "USE memory", NULL, e);
	err = err ? err : views_make(files, e);
	if (!err)
		err = sql_run(&files->db, files->connection,
			      "SET enable_external_access = false; SET lock_configuration = true",
			      NULL, e);
	return err;
}

int sql_files_open(struct sql_files *files, const char *dir, const struct sql_taker *taker,
		   struct error *e)
{
	sigset_t before;
	int err;

	*files = (struct sql_files){.taker = taker};
	err = files_find(&files->files, dir, e);
	if (!err && !files->files.count)
		err = error_say(e, ENOENT, "there are no spans in %s", dir);
	ends_hold(&before); /* also in the threads of DuckDB, so that this one takes them */
	err = err ? err : database_open(DATABASE_ALL, NULL, &files->db, e);
	err = err ? err : all_open(files, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

void sql_files_close(struct sql_files *files)
{
	if (files->connection)
		files->db.api.disconnect(&files->connection);
	if (files->db.handle)
		database_close(&files->db);
	store_files_free(&files->files);
	free(files->copies);
}
