/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the store come and go: the next one begins, and the oldest ones are dropped.
 *
 * Queries go on meanwhile. A file that a query asks stays open, so one that was dropped is removed
 * later, and one that ended is opened for reading alone when no query asks it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/internal.h"

#define RETAIN_NS UINT64_C(10000000000)
#define RETRY_NS UINT64_C(60000000000)

static int filter_write(struct store *s, const struct trace_filter *filter, struct error *e)
{
	static const int types[] = {DUCKDB_BLOB};
	static const struct table table = {"filter", types, 1};
	struct filler filler = {0};
	int err;

	s->text.count = 0;
	trace_filter_put(&s->text, filter);
	if (s->text.failed)
		return error_set(e, ENOMEM, "cannot end a file of the store");
	err = filler_begin(&filler, &s->db, s->writer, &table, e);
	if (!err) {
		filler_text(&filler, 0, s->text.data, s->text.count);
		err = filler_next(&filler, e);
	}
	err = err ? err : filler_flush(&filler, e);
	filler_end(&filler);
	return err;
}

/* Queries ask a smaller filter from now on, which has the same traces. */
static void filter_change(struct store *s, struct store_file *f, struct trace_filter *folded)
{
	struct trace_filter before;

	pthread_mutex_lock(&s->files_lock);
	before = f->filter;
	f->filter = *folded;
	f->has_minutes = true;
	pthread_mutex_unlock(&s->files_lock);
	trace_filter_free(&before);
}

/* Adds to a file what it has when it is complete. */
static int file_end(struct store *s, struct error *e)
{
	struct store_file *f = files_newest(s);
	struct trace_filter folded = {0};
	int err = trace_filter_copy(&folded, &f->filter);

	if (err)
		return error_set(e, err, "cannot end a file of the store");
	trace_filter_fold(&folded);
	err = sql_run(&s->db, s->writer, "BEGIN", NULL, e);
	s->begun = true;
	s->sums.fold_ns = 0;
	err = err ? err : span_sums_write(&s->sums, &s->db, s->writer, e);
	err = err ? err : span_sums_minutes(&s->sums, &s->db, s->writer, e);
	err = err ? err : filter_write(s, &folded, e);
	err = err ? err : sql_run(&s->db, s->writer, "COMMIT", NULL, e);
	if (err) {
		trace_filter_free(&folded);
		store_abandon(s);
		return err;
	}
	s->begun = false;
	span_sums_committed(&s->sums);
	filter_change(s, f, &folded);
	/* what is not in the file yet is in its write-ahead log */
	sql_run(&s->db, s->writer, "CHECKPOINT", NULL, NULL);
	return 0;
}

static bool file_is_full(const struct store *s)
{
	const struct store_file *f = files_newest(s);
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	if (clock_now_ns() < s->end_ns || (!f->spans && !f->is_lost))
		return false;
	if (f->is_lost) /* its bytes are wrong, which a query found */
		return true;
	return f->spans + f->kernel >= s->options.spans_max ||
	       f->vector_bytes >= VECTOR_BYTES_MAX || now_ns < f->created_ns ||
	       now_ns - f->created_ns >= s->options.period_ns;
}

/* A file that was not taken. */
static void next_drop(struct store *s, struct store_file *f)
{
	store_file_detach(f, &s->db, s->writer);
	store_file_remove(f);
	store_file_free(f);
}

/* Makes the next file. The writer goes on with the last one. */
static int next_make(struct store *s, struct store_file **out, struct error *e)
{
	struct store_file *last = files_newest(s), *f = store_file_new(s->dir, last->number + 1);
	int err = f ? store_file_remove(f) : -ENOMEM; /* one that was not taken may be left */

	if (err) {
		store_file_free(f);
		return error_set(e, err, "cannot begin a file of the store");
	}
	err = files_attach_newest(s, f, e);
	err = err ? err : store_file_filter_load(f, &s->db, s->writer, e);
	err = err ? err : store_file_use(last, &s->db, s->writer, e);
	f->begun_ns = clock_read_ns(CLOCK_BOOTTIME);
	if (err) {
		next_drop(s, f);
		store_file_use(last, &s->db, s->writer, NULL);
		return err;
	}
	*out = f;
	return 0;
}

/* Spans go into the file from now on. */
static int next_take(struct store *s, struct store_file *f, struct error *e)
{
	int err;

	known_versions_forget(&s->known);
	pairs_forget(&s->pairs); /* operations get other numbers, too */
	pthread_mutex_lock(&s->files_lock);
	err = vec_push(&s->files, f);
	pthread_mutex_unlock(&s->files_lock);
	if (err) {
		next_drop(s, f);
		return error_set(e, err, "cannot begin a file of the store");
	}
	operations_turn(s);
	err = store_file_use(f, &s->db, s->writer, e);
	return err ? err : files_know(s, e);
}

/* After a failure in the middle of a turn: store_retain() says so until store_reopen(). */
static void writer_give_up(struct store *s)
{
	s->db.api.disconnect(&s->writer);
	s->writer = NULL;
}

/* Begins the next file. After a failure to do so it is tried again in a while. */
static int file_turn(struct store *s, struct error *e)
{
	struct store_file *next = NULL;
	int err = next_make(s, &next, e);

	if (!err) {
		err = files_newest(s)->is_lost ? 0 : file_end(s, e);
		if (err) {
			next_drop(s, next);
			store_file_use(files_newest(s), &s->db, s->writer, NULL);
		} else {
			err = next_take(s, next, e);
			if (err)
				writer_give_up(s);
		}
	}
	s->end_ns = clock_now_ns() + (err ? RETRY_NS : 0);
	return err;
}

/* The oldest file is asked no more. */
static void file_drop(struct store *s)
{
	struct store_file *f = s->files.data[0];

	pthread_mutex_lock(&s->files_lock);
	memmove(s->files.data, s->files.data + 1, --s->files.count * sizeof(f));
	s->gone.data[s->gone.count++] = f;
	pthread_mutex_unlock(&s->files_lock);
	if (!f->is_lost)
		__atomic_fetch_add(&s->dropped_spans, f->spans, __ATOMIC_RELAXED);
}

static bool is_pinned(struct store *s, const struct store_file *f)
{
	bool pinned;

	pthread_mutex_lock(&s->files_lock);
	pinned = f->pins;
	pthread_mutex_unlock(&s->files_lock);
	return pinned;
}

/* Removes dropped files that no query asks any more, also when all are closed. */
static int gone_remove(struct store *s, struct error *e)
{
	size_t kept = 0, before = s->gone.count;

	for (size_t i = 0; i < before; i++) {
		struct store_file *f = s->gone.data[i];

		if (is_pinned(s, f)) {
			s->gone.data[kept++] = f;
			continue;
		}
		if (s->writer)
			store_file_detach(f, &s->db, s->writer);
		store_file_remove(f);
		store_file_free(f);
	}
	s->gone.count = kept;
	return kept < before && s->writer ? store_file_use(files_newest(s), &s->db, s->writer, e)
					  : 0;
}

/* Opens a file that ended for reading alone, so that other processes can read it, too. */
static int file_settle(struct store *s, struct store_file *f, struct error *e)
{
	int err = 0;

	pthread_mutex_lock(&s->files_lock);
	if (!f->pins) {
		store_file_detach(f, &s->db, s->writer);
		err = store_file_attach(f, false, &s->db, s->writer, e);
	}
	pthread_mutex_unlock(&s->files_lock);
	return err;
}

static int files_settle(struct store *s, struct error *e)
{
	bool settled = false;
	int err = 0;

	for (size_t i = 0; i + 1 < s->files.count && s->writer && !err; i++) {
		struct store_file *f = s->files.data[i];

		if (!f->is_written || f->is_lost)
			continue;
		err = file_settle(s, f, e);
		settled = true;
	}
	if (settled && !err)
		err = store_file_use(files_newest(s), &s->db, s->writer, e);
	if (err)
		writer_give_up(s);
	return err;
}

static uint64_t all_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->files.count; i++)
		bytes += store_file_bytes(s->files.data[i]);
	return bytes;
}

static bool is_dated(const struct store *s, const struct store_file *f)
{
	return f->created_ns && f->created_ns <= s->opened_unix_ns;
}

/*
 * When the oldest file ended, by the wall clock, which may have been set at any time: when the next
 * one began, and not before it began itself. What either says of a time after the store was opened
 * is wrong; then a later file tells.
 */
static uint64_t oldest_end_ns(const struct store *s)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < s->files.count && (i < 2 || !end_ns); i++) {
		const struct store_file *f = s->files.data[i];

		if (is_dated(s, f) && f->created_ns > end_ns)
			end_ns = f->created_ns;
	}
	return end_ns ? end_ns : s->opened_unix_ns;
}

/* The wall clock says how old files are that were there when the store was opened, once. */
static bool is_too_old(const struct store *s)
{
	uint64_t now_ns = clock_read_ns(CLOCK_BOOTTIME);
	uint64_t begun_ns = s->files.data[1]->begun_ns;
	uint64_t age_ns = begun_ns ? now_ns - begun_ns
				   : now_ns - s->opened_ns + s->opened_unix_ns - oldest_end_ns(s);

	return s->options.keep_ns && age_ns > s->options.keep_ns;
}

static void old_drop(struct store *s)
{
	while (s->files.count > 1) {
		bool is_over = s->options.keep_bytes && all_bytes(s) > s->options.keep_bytes;

		if (!is_over && !is_too_old(s))
			break;
		if (vec_reserve(&s->gone, 1))
			break; /* another time */
		file_drop(s);
	}
}

int files_turn(struct store *s, struct error *e)
{
	int err = s->writer && file_is_full(s) ? file_turn(s, e) : 0;
	int later = 0;

	if (clock_now_ns() >= s->retain_ns) {
		s->retain_ns = clock_now_ns() + RETAIN_NS;
		/* not before the next file began */
		old_drop(s);
		later = files_settle(s, err ? NULL : e);
	}
	if (s->gone.count && !later)
		later = gone_remove(s, err ? NULL : e);
	return err ? err : later;
}
