/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the store: listing and opening them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/internal.h"

static int file_push(struct store_files *files, const char *dir, uint64_t number)
{
	struct store_file *f = store_file_new(dir, number);

	if (f && vec_push(files, f) == 0)
		return 0;
	store_file_free(f);
	return -ENOMEM;
}

static int number_compare(const void *a, const void *b)
{
	const struct store_file *const *x = a, *const *y = b;

	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

/* The number of a file of the store; false: it is none. */
static bool name_parse(const char *name, uint64_t *number)
{
	int end = 0;

	*number = 0;
	if (strcmp(name, STORE_OLD_NAME) == 0)
		return true;
	return sscanf(name, "spans-%" SCNu64 ".duckdb%n", number, &end) == 1 && end && !name[end] &&
	       *number;
}

void files_remove_temporary(const char *dir)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int in = openat(at, TEMPORARY_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *left = in < 0 ? NULL : fdopendir(in);
	struct dirent *entry;

	while (left && (entry = readdir(left))) {
		if (strncmp(entry->d_name, "duckdb_temp_", 12) == 0)
			unlinkat(in, entry->d_name, 0);
	}
	if (left)
		closedir(left);
	else if (in >= 0)
		close(in);
	unlinkat(at, TEMPORARY_NAME, AT_REMOVEDIR);
	if (at >= 0)
		close(at);
}

int files_find(struct store_files *files, const char *path, struct error *e)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint64_t number;
	int err = 0;

	if (!dir)
		return error_set(e, errno, "cannot open the store in %s", path);
	while (!err && (entry = readdir(dir))) {
		if (name_parse(entry->d_name, &number))
			err = file_push(files, path, number);
	}
	closedir(dir);
	if (!err && files->count)
		qsort(files->data, files->count, sizeof(*files->data), number_compare);
	return err ? error_set(e, err, "cannot open the store in %s", path) : 0;
}

int files_list(struct store *s, struct error *e)
{
	int err = files_find(&s->files, s->dir, e);

	if (err || s->files.count)
		return err;
	err = file_push(&s->files, s->dir, 1);
	return err ? error_set(e, err, "cannot open the store in %s", s->dir) : 0;
}

/* An older file. If it was not closed well, or is of an older version, it is brought up to date. */
static int old_attach(struct store *s, struct store_file *f, struct error *e)
{
	struct error first = {0};
	int err = store_file_attach(f, false, &s->db, s->writer, &first);

	if (!err)
		return 0;
	store_file_detach(f, &s->db, s->writer);
	err = store_file_attach(f, true, &s->db, s->writer, e);
	err = err ? err : store_file_use(f, &s->db, s->writer, e);
	return err ? err : store_file_schema(f, NULL, &s->db, s->writer, e);
}

static const struct store_file *last_filled(const struct store *s)
{
	const struct store_file *last = NULL;

	for (size_t i = 0; i < s->files.count; i++) {
		if (!last || s->files.data[i]->position >= last->position)
			last = s->files.data[i];
	}
	return last;
}

int files_attach_newest(struct store *s, struct store_file *f, struct error *e)
{
	int err = store_file_attach(f, true, &s->db, s->writer, e);

	err = err ? err : store_file_use(f, &s->db, s->writer, e);
	return err ? err : store_file_schema(f, last_filled(s), &s->db, s->writer, e);
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

/* The directory may be a path that means nothing to others, so only the name is told. */
static void loss_tell(struct store *s, struct store_file *f, const char *why)
{
	const char *slash = strrchr(f->path, '/');

	f->is_lost = true;
	f->is_damaged = files_is_damage(why, s->dir);
	snprintf(s->lost_why, sizeof(s->lost_why), "%.200s is left out, with its spans%s: %.600s",
		 slash ? slash + 1 : f->path,
		 f->is_damaged ? ": it is damaged, so remove it, or put a copy in its place"
			       : ", until it can be opened",
		 why);
}

static int older_attach(struct store *s)
{
	for (size_t i = 0; i + 1 < s->files.count; i++) {
		struct store_file *f = s->files.data[i];
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
		store_file_detach(f, &s->db, s->writer);
		loss_tell(s, f, e.text);
	}
	return 0;
}

/* Only the files can be reached from now on. */
static int access_limit(struct store *s, struct error *e)
{
	return sql_run(&s->db, s->writer, "SET enable_external_access = false", NULL, e);
}

void files_lose(struct store *s, struct store_file *f, const char *why)
{
	pthread_mutex_lock(&s->files_lock);
	if (!f->is_lost)
		loss_tell(s, f, why);
	pthread_mutex_unlock(&s->files_lock);
}

/* Attaches the newest file. */
static int newest_open(struct store *s, struct error *e)
{
	struct store_file *newest = files_newest(s);
	int err = files_attach_newest(s, newest, e);

	err = err ? err : store_file_filter_load(newest, &s->db, s->writer, e);
	if (!err && newest->filter.bits < TRACE_FILTER_BITS) {
		/* the file was complete, and its next one was not made */
		trace_filter_free(&newest->filter);
		err = sql_run(&s->db, s->writer, "DELETE FROM filter; DELETE FROM sums_minutes",
			      NULL, e);
		err = err ? err : store_file_filter_load(newest, &s->db, s->writer, e);
		newest->has_minutes = false;
	}
	return err;
}

int files_lose_newest(struct store *s, const char *why, struct error *e)
{
	struct store_file *newest = files_newest(s);
	int err;

	store_file_detach(newest, &s->db, s->writer);
	files_lose(s, newest, why);
	newest->position = 0; /* the log may still have some of its spans */
	err = file_push(&s->files, s->dir, newest->number + 1);
	return err ? error_set(e, err, "cannot open the store in %s", s->dir) : newest_open(s, e);
}

int files_open(struct store *s, struct error *e)
{
	struct error why = {0};
	int err;

	s->lost_why[0] = '\0';
	err = older_attach(s);
	if (err)
		return error_set(e, err, "cannot open the store in %s", s->dir);
	err = newest_open(s, &why);
	if (err && files_is_damage(why.text, s->dir)) {
		/* what it has is lost; what comes goes into the next file */
		err = files_lose_newest(s, why.text, e);
		return err ? err : access_limit(s, e);
	}
	return err ? error_say(e, -err, "%s", why.text) : access_limit(s, e);
}
