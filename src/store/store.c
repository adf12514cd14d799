/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

#define SCHEMA_VERSION 3
#define OLDEST_VERSION 2 /* that is opened */

#define P(part, value, what) ", " #part "_ns UBIGINT NOT NULL"
static const char *const schema[] = {
	"CREATE TABLE IF NOT EXISTS spans(trace UHUGEINT NOT NULL, span UBIGINT NOT NULL,"
	" parent UBIGINT NOT NULL, begin_ns UBIGINT NOT NULL, duration_ns UBIGINT NOT NULL,"
	" service VARCHAR NOT NULL, name VARCHAR NOT NULL, kind UTINYINT NOT NULL,"
	" status UTINYINT NOT NULL, attributes VARCHAR USING COMPRESSION zstd NOT NULL,"
	" resource UBIGINT NOT NULL, scope UBIGINT NOT NULL, rest VARCHAR NOT NULL,"
	" version UBIGINT NOT NULL" SPLIT_PARTS(P) ")",
	"CREATE TABLE IF NOT EXISTS texts(id UBIGINT NOT NULL, text VARCHAR NOT NULL)",
	"CREATE TABLE IF NOT EXISTS operations(service VARCHAR NOT NULL, name VARCHAR NOT NULL,"
	" kind UTINYINT NOT NULL, id UBIGINT)",
	SUMS_TABLE("sums"),
	SUMS_TABLE("sums_fresh"),
	"CREATE TABLE IF NOT EXISTS progress(version UBIGINT NOT NULL, position UBIGINT NOT NULL)",
	"INSERT INTO progress SELECT 3, 0 WHERE NOT EXISTS (FROM progress)",
};
#undef P

/* From version 2. */
#define P(part, value, what) "ALTER TABLE spans ADD COLUMN " #part "_ns UBIGINT DEFAULT 0",
static const char *const migration[] = {
	"ALTER TABLE operations ADD COLUMN id UBIGINT",
	"UPDATE operations SET id = rowid + 1",
	"ALTER TABLE spans ADD COLUMN version UBIGINT DEFAULT 0",
	SPLIT_PARTS(P) "UPDATE progress SET version = 3",
};
#undef P

struct progress {
	uint64_t version, position;
};

static int progress_take(void *arg, const struct row *row)
{
	struct progress *progress = arg;

	*progress = (struct progress){row_number(row, 0), row_number(row, 1)};
	return 0;
}

/* Runs statements in one transaction. */
static int all_run(struct store *s, const char *const *statements, size_t count, struct error *e)
{
	int err = sql_run(&s->db, s->writer, "BEGIN", NULL, e);

	for (size_t i = 0; i < count && !err; i++)
		err = sql_run(&s->db, s->writer, statements[i], NULL, e);
	return err ? err : sql_run(&s->db, s->writer, "COMMIT", NULL, e);
}

static int progress_read(struct store *s, struct error *e)
{
	struct progress progress = {0};
	const struct row_taker taker = {progress_take, &progress, 2};
	int err = sql_run(&s->db, s->writer, "SELECT version, position FROM progress", &taker, e);

	if (err)
		return err;
	if (progress.version > SCHEMA_VERSION)
		return error_say(e, EPROTONOSUPPORT, "the store %s was written by a newer fathom",
				 s->path);
	if (progress.version < OLDEST_VERSION)
		return error_say(e, EPROTONOSUPPORT,
				 "the store %s was written by an older fathom: remove it", s->path);
	__atomic_store_n(&s->position, progress.position, __ATOMIC_RELEASE);
	if (progress.version == SCHEMA_VERSION)
		return 0;
	return all_run(s, migration, sizeof(migration) / sizeof(*migration), e);
}

static int writer_open(struct store *s, struct error *e)
{
	int err = database_connect(&s->db, &s->writer, e);

	err = err ? err : all_run(s, schema, sizeof(schema) / sizeof(*schema), e);
	err = err ? err : progress_read(s, e);
	err = err ? err : texts_load(s, e);
	err = err ? err : span_sums_load(&s->sums, &s->db, s->writer, e);
	return err ? err : operations_load(s, e);
}

static void writer_close(struct store *s)
{
	if (!s->writer)
		return;
	store_abandon(s);
	s->db.api.disconnect(&s->writer);
	s->writer = NULL;
}

int store_reopen(struct store *s, struct error *e)
{
	int err;

	pthread_rwlock_wrlock(&s->opening);
	writer_close(s);
	err = database_reopen(s->path, &s->db, e);
	err = err ? err : writer_open(s, e);
	pthread_rwlock_unlock(&s->opening);
	return err;
}

/* Queries that follow each other without a pause must not keep the writer waiting. */
static void opening_init(struct store *s)
{
	pthread_rwlockattr_t kind;

	pthread_rwlockattr_init(&kind);
	pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->opening, &kind);
	pthread_rwlockattr_destroy(&kind);
}

int store_open(const char *path, const char *library, struct store **out, struct error *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return error_set(e, ENOMEM, "cannot open the store");
	opening_init(s);
	s->path = strdup(path);
	err = s->path ? database_open(path, library, &s->db, e)
		      : error_set(e, ENOMEM, "cannot open the store");
	err = err ? err : writer_open(s, e);
	err = err ? err : known_load(s, e);
	if (err) {
		store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	writer_close(s);
	database_close(&s->db);
	pthread_rwlock_destroy(&s->opening);
	span_sums_free(&s->sums);
	known_free(&s->known);
	bytes_map_free(&s->operations);
	bytes_map_free(&s->services);
	bytes_map_free(&s->texts);
	bytes_free(&s->text);
	free(s->path);
	free(s);
}

uint64_t store_position(const struct store *s)
{
	return __atomic_load_n(&s->position, __ATOMIC_ACQUIRE);
}

static int transaction_begin(struct store *s, struct error *e)
{
	int err;

	if (s->begun)
		return 0;
	if (!s->writer)
		return error_say(e, EIO, "the store is closed after a failure");
	err = sql_run(&s->db, s->writer, "BEGIN", NULL, e);
	if (err)
		return err;
	s->begun = true;
	return appending_begin(&s->appending, &s->db, s->writer, e);
}

int store_append(struct store *s, const struct received_batch *batch, struct error *e)
{
	int err = transaction_begin(s, e);

	for (size_t i = 0; i < batch->count && !err; i++)
		err = span_append(s, &batch->data[i], e);
	appending_forget(&s->appending);
	return err;
}

size_t store_pending_bytes(const struct store *s)
{
	return s->appending.filler.bytes;
}

static int progress_write(struct store *s, uint64_t position, struct error *e)
{
	struct statement update = {0};
	int err;

	statement_add(&update, "UPDATE progress SET position = ?");
	statement_bind_number(&update, position);
	err = statement_run(&s->db, s->writer, &update, NULL, e);
	statement_free(&update);
	return err;
}

int store_commit(struct store *s, uint64_t position, struct error *e)
{
	int err = transaction_begin(s, e);

	err = err ? err : calls_append(s, e);
	err = err ? err : appending_flush(&s->appending, e);
	err = err ? err : span_sums_write(&s->sums, &s->db, s->writer, e);
	err = err ? err : progress_write(s, position, e);
	err = err ? err : sql_run(&s->db, s->writer, "COMMIT", NULL, e);
	if (err)
		return err;
	appending_end(&s->appending);
	span_sums_committed(&s->sums);
	known_committed(&s->known);
	s->begun = false;
	__atomic_store_n(&s->position, position, __ATOMIC_RELEASE);
	return 0;
}

void store_abandon(struct store *s)
{
	if (!s->begun)
		return;
	appending_end(&s->appending);
	span_sums_abandoned(&s->sums);
	known_abandoned(&s->known);
	sql_run(&s->db, s->writer, "ROLLBACK", NULL, NULL);
	s->begun = false;
	texts_load(s, NULL);
	operations_load(s, NULL);
}
