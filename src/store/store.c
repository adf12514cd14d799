/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/internal.h"

#define PERIOD_NS UINT64_C(3600000000000)
#define SPANS_MAX UINT64_C(8000000)
#define CLOSE_WAL_BYTES ((uint64_t)4 << 20)
#define QUERY_NS UINT64_C(2000000000)

static int path_set(struct store *s, const char *before, const char *path, const char *behind,
		    struct error *e)
{
	struct statement set = {0};
	int err;

	statement_add(&set, before);
	statement_add_quoted(&set, path);
	statement_add(&set, behind);
	err = statement_run(&s->db, s->writer, &set, NULL, e);
	statement_free(&set);
	return err;
}

/*
 * DuckDB reaches files in the directory alone. What does not fit into its memory goes there, too:
 * otherwise it gives up a database whose checkpoint needs more.
 */
static int dir_allow(struct store *s, struct error *e)
{
	char *path = NULL;
	int err = asprintf(&path, "%s/" TEMPORARY_NAME, s->dir) < 0 ? -ENOMEM : 0;

	if (err)
		return error_set(e, err, "cannot open the store");
	err = path_set(s, "SET temp_directory = ", path, "", e);
	free(path);
	return err ? err : path_set(s, "SET allowed_directories = [", s->dir, "]", e);
}

/* Nothing is appended. */
static void pending_begin(struct store *s)
{
	const struct store_file *f = files_newest(s);

	s->least_ns = f->least_ns;
	s->greatest_ns = f->greatest_ns;
	s->spans = f->spans;
	s->kernel = f->kernel;
	s->vector_bytes = f->vector_bytes;
}

int files_know(struct store *s, struct error *e)
{
	int err;

	__atomic_store_n(&s->position, files_newest(s)->position, __ATOMIC_RELEASE);
	s->passed = files_newest(s)->passed;
	pending_begin(s);
	err = texts_load(s, e);
	err = err ? err : span_sums_load(&s->sums, &s->db, s->writer, e);
	return err ? err : operations_load(s, e);
}

/* Goes on with the next file, since the bytes of the newest one are wrong. */
static int newest_lose(struct store *s, const char *why, struct error *e)
{
	int err = files_lose_newest(s, why, e);

	return err ? err : files_know(s, e);
}

static int newest_know(struct store *s, struct error *e)
{
	struct error why = {0};
	int err = files_know(s, &why);

	if (err && files_is_damage(why.text, s->dir))
		return newest_lose(s, why.text, e);
	return err ? error_say(e, -err, "%s", why.text) : 0;
}

/* Which spans came last; of files whose bytes are wrong it is not known. */
static int known_read(struct store *s, struct error *e)
{
	struct store_file *of = NULL;
	struct error why = {0};
	int err = known_load(s, &of, &why);

	if (!err || !of || !files_is_damage(why.text, s->dir))
		return err ? error_say(e, -err, "%s", why.text) : 0;
	known_free(&s->known);
	if (of == files_newest(s))
		return newest_lose(s, why.text, e);
	files_lose(s, of, why.text);
	return known_read(s, e);
}

static int writer_open(struct store *s, struct error *e)
{
	int err = database_connect(&s->db, &s->writer, e);

	/* it keeps what it wrote until this is full */
	err = err ? err : sql_run(&s->db, s->writer, "SET memory_limit = '256MB'", NULL, e);
	err = err ? err : dir_allow(s, e);
	err = err ? err : files_open(s, e);
	return err ? err : newest_know(s, e);
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
	err = database_reopen(DATABASE_ALL, &s->db, e);
	err = err ? err : writer_open(s, e);
	pthread_rwlock_unlock(&s->opening);
	return err;
}

/* Queries that follow each other without a pause must not keep the writer waiting. */
static void locks_init(struct store *s)
{
	pthread_rwlockattr_t kind;

	pthread_rwlockattr_init(&kind);
	pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->opening, &kind);
	pthread_rwlockattr_destroy(&kind);
	pthread_mutex_init(&s->files_lock, NULL);
}

int store_open(const struct store_options *options, struct store **out, struct error *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return error_set(e, ENOMEM, "cannot open the store");
	locks_init(s);
	s->opened_unix_ns = clock_read_ns(CLOCK_REALTIME);
	s->opened_ns = clock_read_ns(CLOCK_BOOTTIME);
	s->options = *options;
	s->options.dir = s->options.library = NULL;
	if (!options->period_ns || options->period_ns > PERIOD_NS)
		s->options.period_ns = PERIOD_NS;
	if (!options->spans_max)
		s->options.spans_max = SPANS_MAX;
	if (!options->query_ns)
		s->options.query_ns = QUERY_NS;
	s->new_names.per_hour = options->names_per_hour ? options->names_per_hour
							: STORE_NAMES_PER_HOUR;
	/* the directories above one that is given by its descriptor may be closed to this user */
	s->dir = *options->dir == '/' ? strdup(options->dir) : realpath(options->dir, NULL);
	err = s->dir ? database_open(DATABASE_ALL, options->library, &s->db, e)
		     : error_set(e, errno, "cannot open the store in %s", options->dir);
	if (!err)
		files_remove_temporary(s->dir);
	err = err ? err : files_list(s, e);
	err = err ? err : writer_open(s, e);
	err = err ? err : known_read(s, e);
	if (!err) {
		err = budget_start(&s->budget, &s->db.api);
		if (err)
			error_set(e, err, "cannot open the store");
	}
	if (err) {
		store_close(s);
		return err;
	}
	*out = s;
	return 0;
}

/*
 * Closing a file compresses what small commits left. It must not take long: with much of it the
 * next start reads it from the write-ahead log, as after a crash.
 */
static void closing_hasten(struct store *s)
{
	if (s->writer && s->files.count && store_file_wal_bytes(files_newest(s)) > CLOSE_WAL_BYTES)
		sql_run(&s->db, s->writer, "PRAGMA disable_checkpoint_on_shutdown", NULL, NULL);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	budget_stop(&s->budget);
	store_abandon(s);
	closing_hasten(s);
	writer_close(s);
	database_close(&s->db);
	pthread_rwlock_destroy(&s->opening);
	pthread_mutex_destroy(&s->files_lock);
	span_sums_free(&s->sums);
	known_free(&s->known);
	pairs_forget(&s->pairs);
	bytes_map_free(&s->operations);
	bytes_map_free(&s->operations_before);
	bytes_map_free(&s->services);
	bytes_map_free(&s->texts);
	bytes_free(&s->text);
	for (size_t i = 0; i < s->gone.count; i++)
		store_file_remove(s->gone.data[i]);
	store_files_free(&s->gone);
	store_files_free(&s->files);
	vec_free(&s->newer);
	free(s->dir);
	vec_free(&s->fates);
	free(s);
}

uint64_t store_position(const struct store *s)
{
	return __atomic_load_n(&s->position, __ATOMIC_ACQUIRE);
}

uint64_t store_passed(const struct store *s)
{
	return s->passed;
}

uint64_t store_room(const struct store *s)
{
	uint64_t used = s->spans % STORE_GROUP_SPANS;

	return used || s->spans == files_newest(s)->spans ? STORE_GROUP_SPANS - used : 0;
}

static int transaction_begin(struct store *s, struct error *e)
{
	int err;

	if (s->begun)
		return 0;
	if (!s->writer)
		return error_say(e, EIO, "the store is closed after a failure");
	/* into one whose bytes are wrong nothing more goes */
	err = files_newest(s)->is_lost ? files_turn(s, e) : 0;
	err = err ? err : store_file_grow(files_newest(s), &s->db, s->writer, e);
	err = err ? err : sql_run(&s->db, s->writer, "BEGIN", NULL, e);
	if (err)
		return err;
	s->begun = true;
	return appending_begin(&s->appending, files_newest(s), &s->db, s->writer, e);
}

int store_append(struct store *s, const struct received_batch *batch, struct error *e)
{
	int err = transaction_begin(s, e);

	s->fates.count = 0;
	if (!err && vec_reserve(&s->fates, batch->count))
		err = error_set(e, ENOMEM, "cannot store spans");
	for (size_t i = 0; i < batch->count && !err; i++)
		err = span_append(s, &batch->data[i], e);
	appending_forget(&s->appending);
	return err;
}

const uint8_t *store_fates(const struct store *s)
{
	return s->fates.data;
}

size_t store_pending_bytes(const struct store *s)
{
	return appending_bytes(&s->appending);
}

/* The file as it is after the commit. */
static struct store_file file_next(const struct store *s, uint64_t position, uint64_t passed)
{
	return (struct store_file){.position = position,
				   .passed = passed,
				   .least_ns = s->least_ns,
				   .greatest_ns = s->greatest_ns,
				   .spans = s->spans,
				   .kernel = s->kernel,
				   .vector_bytes = s->vector_bytes};
}

static void file_update(struct store_file *f, const struct store_file *next)
{
	__atomic_store_n(&f->position, next->position, __ATOMIC_RELAXED);
	f->passed = next->passed;
	f->vector_bytes = next->vector_bytes;
	__atomic_store_n(&f->least_ns, next->least_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&f->greatest_ns, next->greatest_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&f->spans, next->spans, __ATOMIC_RELAXED);
	__atomic_store_n(&f->kernel, next->kernel, __ATOMIC_RELAXED);
}

/* Tells which spans of the file have an older version in it. */
static int newer_write(struct store *s, struct error *e)
{
	static const int types[] = {DUCKDB_UHUGEINT, DUCKDB_UBIGINT, DUCKDB_UBIGINT};
	static const struct table table = {"newer", types, 3};
	struct filler filler = {0};
	int err = s->newer.count ? filler_begin(&filler, &s->db, s->writer, &table, e) : 0;

	for (size_t i = 0; i < s->newer.count && !err; i++) {
		const struct newer *newer = &s->newer.data[i];

		filler_id(&filler, 0, newer->trace);
		filler_number(&filler, 1, newer->span);
		filler_number(&filler, 2, newer->version);
		err = filler_next(&filler, e);
	}
	if (!err && s->newer.count)
		err = filler_flush(&filler, e);
	if (s->newer.count)
		filler_end(&filler);
	return err;
}

int store_commit_part(struct store *s, uint64_t position, uint64_t passed, struct error *e)
{
	int err = transaction_begin(s, e);
	struct store_file next = file_next(s, position, passed);

	err = err ? err : calls_append(s, e);
	err = err ? err : appending_flush(&s->appending, e);
	err = err ? err : newer_write(s, e);
	err = err ? err : span_sums_write(&s->sums, &s->db, s->writer, e);
	err = err ? err : store_file_progress_write(&next, &s->db, s->writer, e);
	err = err ? err : sql_run(&s->db, s->writer, "COMMIT", NULL, e);
	if (err)
		return err;
	store_file_layout(files_newest(s), &s->appending.layout);
	appending_end(&s->appending);
	__atomic_fetch_add(&files_newest(s)->newer, s->newer.count, __ATOMIC_RELAXED);
	s->newer.count = 0;
	span_sums_committed(&s->sums);
	new_names_committed(&s->new_names);
	known_committed(&s->known);
	s->begun = false;
	file_update(files_newest(s), &next);
	__atomic_store_n(&s->position, position, __ATOMIC_RELEASE);
	s->passed = passed;
	files_turn(s, NULL); /* what failed shows in store_retain() */
	return 0;
}

int store_commit(struct store *s, uint64_t position, struct error *e)
{
	return store_commit_part(s, position, 0, e);
}

int store_retain(struct store *s, struct error *e)
{
	int err = s->begun ? 0 : files_turn(s, e);

	if (!err && !s->writer)
		err = error_say(e, EIO, "the store is closed after a failure");
	return err;
}

void store_abandon(struct store *s)
{
	if (!s->begun)
		return;
	appending_end(&s->appending);
	s->newer.count = 0;
	span_sums_abandoned(&s->sums);
	new_names_abandoned(&s->new_names);
	known_abandoned(&s->known);
	pairs_forget(&s->pairs); /* some have what the sums have no more */
	pending_begin(s);
	sql_run(&s->db, s->writer, "ROLLBACK", NULL, NULL);
	s->begun = false;
	texts_load(s, NULL);
	operations_load(s, NULL);
}
