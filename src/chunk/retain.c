/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes old chunks, by age and by size. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "chunk/directory.h"
#include "chunk/reader.h"

#define GONE_PREFIX ".gone-"
#define TOGETHER_BYTES ((uint64_t)32 << 20) /* deleted together, after all of them are read */
#define TOGETHER_COUNT 256

struct now {
	uint64_t unix_ns, monotonic_ns;
};

struct recording_retainer {
	char dir[4096];
	struct recording_hold hold; /* its own descriptor of the directory, without the lock */
	struct recording_keep keep;
	char boot_id[CHUNK_BOOT_BYTES]; /* the id of this boot */
	struct now first;		/* look; 0: there was none */
	struct bytes_map sizes;		/* name of a sealed chunk -> its bytes + 1 */
	struct recording_excess excess; /* at the last look */
	size_t gone;			/* chunks deleted since then */
};

/* ---- how large chunks are ---- */

/* Bytes of the files in a directory, 0 if it is not there any more. */
static uint64_t measure(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t sum = 0;
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	closedir(dir);
	return sum;
}

/* A sealed chunk does not change: it is measured once. */
static uint64_t size_of(struct recording_retainer *r, const char *name)
{
	void *known = bytes_map_get(&r->sizes, name, strlen(name));
	uint64_t bytes;

	if (known)
		return (uint64_t)(uintptr_t)known - 1;
	bytes = measure(r->hold.dir, name);
	bytes_map_put(&r->sizes, name, strlen(name), (void *)(uintptr_t)(bytes + 1));
	return bytes;
}

/* ---- which of them go ---- */

/* The order in which chunks were made, even if the wall clock was set in between. */
static int compare_made(const void *a, const void *b)
{
	const struct chunk_name *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A chunk ended before all later ones, whatever its name says. */
static void names_order(struct chunk_names *names)
{
	uint64_t end = UINT64_MAX;

	if (names->count)
		qsort(names->names, names->count, sizeof(*names->names), compare_made);
	for (size_t i = names->count; i > 0; i--) {
		struct chunk_name *name = &names->names[i - 1];

		if (!name->open && name->end_unix_ns < end)
			end = name->end_unix_ns;
		name->end_unix_ns = end;
	}
}

/*
 * The wall clock may be set at any time, so only what it says at the first look is used. A chunk of
 * another boot was there then, also if its name tells a later time.
 */
static uint64_t age_by_name(const struct recording_retainer *r, uint64_t end_unix_ns,
			    const struct now *now)
{
	uint64_t since_ns = now->monotonic_ns - r->first.monotonic_ns, later_ns;

	if (end_unix_ns <= r->first.unix_ns)
		return since_ns + (r->first.unix_ns - end_unix_ns);
	later_ns = r->keep.by_names ? end_unix_ns - r->first.unix_ns : 0;
	return since_ns > later_ns ? since_ns - later_ns : 0;
}

static uint64_t age_of(const struct recording_retainer *r, const struct chunk_name *name,
		       const struct now *now)
{
	int dir = r->keep.by_names ? -1
				   : openat(r->hold.dir, name->name,
					    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t age_ns = age_by_name(r, name->end_unix_ns, now);
	struct manifest m = {0};

	if (dir >= 0 && manifest_read(dir, &m, NULL) == 0 && r->boot_id[0] &&
	    strcmp(m.info.boot_id, r->boot_id) == 0)
		age_ns = m.info.end_ns < now->monotonic_ns ? now->monotonic_ns - m.info.end_ns : 0;
	manifest_free(&m);
	if (dir >= 0)
		close(dir);
	return age_ns;
}

static bool must_go(const struct recording_retainer *r, const struct chunk_name *name, uint64_t sum,
		    const struct now *now)
{
	if (r->keep.bytes && sum > r->keep.bytes)
		return true;
	return r->keep.age_ns && age_of(r, name, now) > r->keep.age_ns;
}

/* Removes a chunk: first renames it, so that no reader finds it, and then removes its files. */
static int remove_chunk(struct recording_retainer *r, const char *name, struct error *e)
{
	char gone[sizeof(GONE_PREFIX) + CHUNK_NAME_BYTES];
	int err = 0;

	snprintf(gone, sizeof(gone), GONE_PREFIX "%s", name);
	bytes_map_remove(&r->sizes, name, strlen(name));
	if (renameat(r->hold.dir, name, r->hold.dir, gone) < 0)
		/* another process may have removed it */
		err = errno == ENOENT ? 0 : -errno;
	else
		err = chunk_directory_remove_at(r->hold.dir, gone);
	if (err)
		return error_set(e, err, "cannot remove %s/%s", r->dir, name);
	r->gone++;
	return 0;
}

/* A reader at the begin of the chunk. Without a manifest, its streams give its end. */
static int open_measured(struct recording_retainer *r, const char *path,
			 struct chunk_reader **reader, struct error *e)
{
	struct chunk_reader *measured;
	int err = chunk_reader_open_at(reader, r->hold.dir, path, e);

	if (err || chunk_reader_has_sums(*reader))
		return err;
	measured = *reader;
	err = chunk_reader_measure(measured, e);
	if (!err)
		err = chunk_reader_open_at(reader, r->hold.dir, path, e);
	if (!err) {
		(*reader)->info.end_ns = measured->info.end_ns;
		(*reader)->info.complete_ns = measured->info.complete_ns;
	}
	chunk_reader_close(measured);
	return err;
}

/* Calls `before` for a chunk. One that is too damaged to be read is deleted without that. */
static int hear(struct recording_retainer *r, const char *name, struct error *e)
{
	char path[sizeof(r->dir) + CHUNK_NAME_BYTES];
	struct chunk_reader *reader;
	int err;

	if (!r->keep.before)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	err = open_measured(r, path, &reader, NULL);
	if (err)
		return chunk_error_is_own(err) ? 0 : error_set(e, err, "cannot read %s", path);
	err = r->keep.before(r->keep.arg, reader, e);
	chunk_reader_close(reader);
	return err;
}

/* Chunks for which `before` was called, and that are deleted together. */
struct leaving {
	const char *names[TOGETHER_COUNT];
	size_t count;
	uint64_t bytes;
};

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/*
 * Calls `together`. Where the disk has no room for what it writes, the oldest chunks go before it,
 * until there is room. *gone is how many did.
 */
static int leave_together(struct recording_retainer *r, const struct leaving *l, size_t *gone,
			  struct error *e)
{
	int err = l->count && r->keep.together ? r->keep.together(r->keep.arg, e) : 0;

	for (*gone = 0; is_full(err) && *gone < l->count; ++*gone) {
		if (remove_chunk(r, l->names[*gone], NULL))
			break;
		error_clear(e);
		err = r->keep.together(r->keep.arg, e);
	}
	return err;
}

/* Returns the number of deleted chunks, or a negative errno. */
static int leave(struct recording_retainer *r, struct leaving *l, struct error *e)
{
	size_t first;
	int gone = (int)l->count, err = leave_together(r, l, &first, e);

	for (size_t i = first; i < l->count && !err; i++)
		err = remove_chunk(r, l->names[i], e);
	l->count = 0;
	l->bytes = 0;
	return err ? err : gone;
}

/* The latest chunk is the last one in the list that is not open. */
static uint64_t measure_all(struct recording_retainer *r, const struct chunk_name *names,
			    size_t count)
{
	struct recording_excess *x = &r->excess;
	uint64_t sum = 0;

	*x = (struct recording_excess){0};
	for (size_t i = 0; i < count; i++)
		if (!names[i].open)
			sum += size_of(r, names[i].name);
	for (size_t i = 0; r->keep.bytes && i + 1 < count && sum - x->bytes > r->keep.bytes; i++) {
		if (names[i].open)
			continue;
		x->bytes += size_of(r, names[i].name);
		x->chunks++;
	}
	return sum;
}

static int retain_names(struct recording_retainer *r, const struct chunk_names *names,
			const struct now *now, struct error *e)
{
	struct leaving leaving = {0};
	size_t last = names->count;
	int gone = 0, left = 0, err = 0;
	uint64_t sum;

	while (last > 0 && names->names[last - 1].open)
		last--;
	sum = measure_all(r, names->names, last);
	for (size_t i = 0; i + 1 < last; i++) {
		const struct chunk_name *name = &names->names[i];
		uint64_t bytes;

		if (name->open)
			continue;
		if (!must_go(r, name, sum, now))
			break;
		bytes = size_of(r, name->name);
		if (leaving.count == TOGETHER_COUNT || leaving.bytes + bytes > TOGETHER_BYTES)
			gone += left = leave(r, &leaving, e);
		err = left < 0 ? left : hear(r, name->name, e);
		if (err)
			break;
		leaving.names[leaving.count++] = name->name;
		leaving.bytes += bytes;
		sum -= bytes;
	}
	if (left >= 0) /* a chunk that stays does not keep earlier ones */
		gone += left = leave(r, &leaving, err ? NULL : e);
	return err ? err : left < 0 ? left : gone;
}

/* Removes chunks whose removal a crash interrupted. */
static void sweep(const struct recording_hold *hold)
{
	int fd = recording_directory(".", hold);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, GONE_PREFIX, sizeof(GONE_PREFIX) - 1) == 0)
			chunk_directory_remove_at(hold->dir, entry->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

int recording_retainer_open(struct recording_retainer **retainer, const char *dir,
			    const struct recording_keep *keep, struct error *e)
{
	struct recording_retainer *r = calloc(1, sizeof(*r));

	if (!r)
		return error_set(e, ENOMEM, "cannot apply --keep to %s", dir);
	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	r->keep = *keep;
	chunk_boot_named(r->boot_id, keep->host);
	r->hold = (struct recording_hold){recording_directory(dir, keep->hold), -1};
	if (r->hold.dir < 0) {
		int err = error_set(e, r->hold.dir, "cannot apply --keep to %s", dir);

		free(r);
		return err;
	}
	sweep(&r->hold);
	*retainer = r;
	return 0;
}

int recording_retain(struct recording_retainer *r, uint64_t now_unix_ns, uint64_t now_ns,
		     struct error *e)
{
	const struct now now = {now_unix_ns, now_ns};
	struct chunk_names names;
	int err = chunk_names_list(r->dir, &r->hold, &names, e);

	r->gone = 0;
	if (err)
		return err;
	if (!r->first.unix_ns)
		r->first = now;
	names_order(&names);
	err = retain_names(r, &names, &now, e);
	chunk_names_free(&names);
	return err;
}

struct recording_excess recording_retainer_excess(const struct recording_retainer *r)
{
	return r->excess;
}

size_t recording_retainer_gone(const struct recording_retainer *r)
{
	return r->gone;
}

void recording_retainer_close(struct recording_retainer *r)
{
	if (!r)
		return;
	bytes_map_free(&r->sizes);
	recording_unlock(&r->hold);
	free(r);
}
