/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the store: opening all, beginning the next one, and dropping the oldest. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/internal.h"

#define OLD_NAME "spans.duckdb" /* of versions with one file */
#define RETAIN_NS UINT64_C(10000000000)
#define RETRY_NS UINT64_C(60000000000)

static uint64_t now_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int file_push(struct store *s, uint64_t number)
{
	struct store_file f = {.number = number};
	int n = number ? asprintf(&f.path, "%s/spans-%06" PRIu64 ".duckdb", s->dir, number)
		       : asprintf(&f.path, "%s/" OLD_NAME, s->dir);

	if (n < 0)
		return -ENOMEM;
	if (vec_push(&s->files, f) == 0)
		return 0;
	free(f.path);
	return -ENOMEM;
}

static int number_compare(const void *a, const void *b)
{
	const struct store_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* The number of a file of the store; false: it is none. */
static bool name_parse(const char *name, uint64_t *number)
{
	int end = 0;

	*number = 0;
	if (strcmp(name, OLD_NAME) == 0)
		return true;
	return sscanf(name, "spans-%" SCNu64 ".duckdb%n", number, &end) == 1 && end && !name[end] &&
	       *number;
}

int files_find(struct store *s, struct error *e)
{
	DIR *dir = opendir(s->dir);
	struct dirent *entry;
	uint64_t number;
	int err = 0;

	if (!dir)
		return error_set(e, errno, "cannot open the store in %s", s->dir);
	while (!err && (entry = readdir(dir))) {
		if (name_parse(entry->d_name, &number))
			err = file_push(s, number);
	}
	closedir(dir);
	if (!err && s->files.count)
		qsort(s->files.data, s->files.count, sizeof(*s->files.data), number_compare);
	return err ? error_set(e, err, "cannot open the store in %s", s->dir) : 0;
}

int files_list(struct store *s, struct error *e)
{
	int err = files_find(s, e);

	if (err || s->files.count)
		return err;
	err = file_push(s, 1);
	return err ? error_set(e, err, "cannot open the store in %s", s->dir) : 0;
}

static void file_detach(struct store *s, const struct store_file *f)
{
	char name[FILE_NAME_BYTES], sql[64];

	store_file_name(name, f);
	snprintf(sql, sizeof(sql), "DETACH %s", name);
	sql_run(&s->db, s->writer, "USE memory", NULL, NULL);
	sql_run(&s->db, s->writer, sql, NULL, NULL);
}

/* An older file. If it was not closed well, or is of an older version, it is brought up to date. */
static int old_attach(struct store *s, struct store_file *f, struct error *e)
{
	struct error first = {0};
	int err = store_file_attach(f, false, &s->db, s->writer, &first);

	if (!err)
		return 0;
	file_detach(s, f);
	err = store_file_attach(f, true, &s->db, s->writer, e);
	err = err ? err : store_file_use(f, &s->db, s->writer, e);
	return err ? err : store_file_schema(f, 0, &s->db, s->writer, e);
}

static uint64_t greatest_position(const struct store *s)
{
	uint64_t position = 0;

	for (size_t i = 0; i < s->files.count; i++) {
		if (s->files.data[i].position > position)
			position = s->files.data[i].position;
	}
	return position;
}

static int newest_attach(struct store *s, struct store_file *f, struct error *e)
{
	int err = store_file_attach(f, true, &s->db, s->writer, e);

	err = err ? err : store_file_use(f, &s->db, s->writer, e);
	return err ? err : store_file_schema(f, greatest_position(s), &s->db, s->writer, e);
}

static bool has_word(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return false;
}

bool files_is_damage(const char *text, const char *dir)
{
	static const char *const words[] = {
		"orrupt", "not a valid DuckDB", "hecksum", "erializ", "WAL",
		"agic",	  "enough bytes"};
	/* the system's reasons, behind which the bytes may be right */
	const char *const others[] = {strerrordesc_np(ENOSPC), strerrordesc_np(EDQUOT),
				      strerrordesc_np(EACCES), strerrordesc_np(EPERM),
				      strerrordesc_np(EMFILE), strerrordesc_np(ENFILE),
				      strerrordesc_np(ENOMEM), strerrordesc_np(EFBIG),
				      strerrordesc_np(EROFS),  strerrordesc_np(ENOENT)};
	char inner[ERROR_TEXT_BYTES], *at;

	/* names of files say nothing */
	snprintf(inner, sizeof(inner), "%s", text);
	while (*dir && (at = strstr(inner, dir))) {
		const char *end = at + strlen(dir);

		end += strcspn(end, "\"' :\n");
		memmove(at, end, strlen(end) + 1);
	}
	return !has_word(inner, others, sizeof(others) / sizeof(*others)) &&
	       has_word(inner, words, sizeof(words) / sizeof(*words));
}

static void loss_tell(struct store *s, struct store_file *f, const char *why)
{
	f->is_lost = true;
	f->is_damaged = files_is_damage(why, s->dir);
	snprintf(s->lost_why, sizeof(s->lost_why), "%.200s is left out%s: %.600s", f->path,
		 f->is_damaged ? "" : " until it can be opened", why);
}

static int older_attach(struct store *s)
{
	for (size_t i = 0; i + 1 < s->files.count; i++) {
		struct store_file *f = &s->files.data[i];
		struct error e = {0};
		int err;

		if (f->is_damaged)
			continue;
		f->is_lost = false;
		err = old_attach(s, f, &e);
		err = err ? err : store_file_filter_load(f, &s->db, s->writer, &e);
		if (err == -ENOMEM)
			return err;
		if (!err)
			continue;
		file_detach(s, f);
		loss_tell(s, f, e.text);
	}
	return 0;
}

/* Only the files can be reached from now on. */
static int access_limit(struct store *s, struct error *e)
{
	return sql_run(&s->db, s->writer, "SET enable_external_access = false", NULL, e);
}

int files_open(struct store *s, struct error *e)
{
	struct store_file *newest;
	struct error why = {0};
	int err;

	s->lost_why[0] = '\0';
	err = older_attach(s);
	if (err)
		return error_set(e, err, "cannot open the store in %s", s->dir);
	newest = &s->files.data[s->files.count - 1];
	err = newest_attach(s, newest, &why);
	if (err && files_is_damage(why.text, s->dir)) {
		/* what it has is lost; what comes goes into the next file */
		file_detach(s, newest);
		loss_tell(s, newest, why.text);
		err = file_push(s, newest->number + 1);
		newest = &s->files.data[s->files.count - 1];
		why = (struct error){0};
		err = err ? err : newest_attach(s, newest, &why);
	}
	if (err)
		return error_say(e, -err, "%s", why.text);
	err = store_file_filter_load(newest, &s->db, s->writer, e);
	if (!err && newest->filter.bits < TRACE_FILTER_BITS) {
		/* the file was complete, and its next one was not made */
		trace_filter_free(&newest->filter);
		err = sql_run(&s->db, s->writer, "DELETE FROM filter; DELETE FROM sums_minutes",
			      NULL, e);
		err = err ? err : store_file_filter_load(newest, &s->db, s->writer, e);
		newest->has_minutes = false;
	}
	return err ? err : access_limit(s, e);
}

static int filter_write(struct store *s, struct store_file *f, struct error *e)
{
	static const int types[] = {DUCKDB_BLOB};
	static const struct table table = {"filter", types, 1};
	struct filler filler = {0};
	int err;

	trace_filter_fold(&f->filter);
	s->text.count = 0;
	trace_filter_put(&s->text, &f->filter);
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

/* Adds to a file what it has when it is complete. */
static int file_end(struct store *s, struct error *e)
{
	struct store_file *f = &s->files.data[s->files.count - 1];
	int err = sql_run(&s->db, s->writer, "BEGIN", NULL, e);

	s->begun = true;
	s->sums.fold_ns = 0;
	err = err ? err : span_sums_write(&s->sums, &s->db, s->writer, e);
	err = err ? err : span_sums_minutes(&s->sums, &s->db, s->writer, e);
	/* queries may ask the filter, which is folded */
	pthread_rwlock_wrlock(&s->opening);
	err = err ? err : filter_write(s, f, e);
	pthread_rwlock_unlock(&s->opening);
	err = err ? err : sql_run(&s->db, s->writer, "COMMIT", NULL, e);
	if (err) {
		store_abandon(s);
		return err;
	}
	s->begun = false;
	span_sums_committed(&s->sums);
	f->has_minutes = true;
	return sql_run(&s->db, s->writer, "CHECKPOINT", NULL, e);
}

static bool file_is_full(const struct store *s, uint64_t now_ns)
{
	const struct store_file *f = &s->files.data[s->files.count - 1];

	if (clock_now_ns() < s->end_ns || !f->spans)
		return false;
	return f->spans + f->kernel >= s->options.spans_max || now_ns < f->created_ns ||
	       now_ns - f->created_ns >= s->options.period_ns;
}

/* Begins the next file. After a failure to do so it is tried again in a while. */
static int file_turn(struct store *s, struct error *e)
{
	int err = file_end(s, e);

	if (!err) {
		known_versions_forget(&s->known);
		pairs_forget(&s->pairs); /* operations get other numbers, too */
		/* no query sees the new file before it is attached */
		pthread_rwlock_wrlock(&s->opening);
		err = file_push(s, s->files.data[s->files.count - 1].number + 1);
		if (err)
			error_set(e, err, "cannot begin a file of the store");
		err = err ? err : store_reopen_locked(s, e);
		pthread_rwlock_unlock(&s->opening);
	}
	s->end_ns = clock_now_ns() + (err ? RETRY_NS : 0);
	return err;
}

/* Removes the oldest file, also after a failure, when all are closed. */
static int file_drop(struct store *s, struct error *e)
{
	struct store_file f = s->files.data[0];
	int err = 0;

	pthread_rwlock_wrlock(&s->opening);
	if (s->writer)
		file_detach(s, &f);
	memmove(s->files.data, s->files.data + 1, --s->files.count * sizeof(f));
	if (s->writer)
		err = store_file_use(&s->files.data[s->files.count - 1], &s->db, s->writer, e);
	pthread_rwlock_unlock(&s->opening);
	store_file_remove(&f);
	if (!f.is_lost)
		__atomic_fetch_add(&s->dropped_spans, f.spans, __ATOMIC_RELAXED);
	store_file_free(&f);
	return err;
}

static uint64_t all_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->files.count; i++)
		bytes += store_file_bytes(&s->files.data[i]);
	return bytes;
}

/* The oldest file ended when the next one began of which that is known. */
static bool is_too_old(const struct store *s, uint64_t now_ns)
{
	uint64_t ended_ns = 0;

	for (size_t i = 1; i < s->files.count && !ended_ns; i++)
		ended_ns = s->files.data[i].created_ns;
	return s->options.keep_ns && ended_ns && now_ns > ended_ns &&
	       now_ns - ended_ns > s->options.keep_ns;
}

int files_turn(struct store *s, struct error *e)
{
	int err = s->writer && file_is_full(s, now_unix_ns()) ? file_turn(s, e) : 0;
	uint64_t now_ns = now_unix_ns(); /* not before the next file began */

	if (clock_now_ns() < s->retain_ns)
		return err;
	s->retain_ns = clock_now_ns() + RETAIN_NS;
	while (s->files.count > 1) {
		bool is_over = s->options.keep_bytes && all_bytes(s) > s->options.keep_bytes;

		if (!is_over && !is_too_old(s, now_ns))
			break;
		if (file_drop(s, err ? NULL : e) && !err)
			err = -EIO;
	}
	return err;
}
