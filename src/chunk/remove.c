/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a recording, and nothing else: first checks its owner and the names in it, and
 * then removes it through its descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/directory.h"
#include "chunk/manifest.h"

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The files that a recorder leaves beside its chunks. */
static bool is_beside(const char *name)
{
	return strcmp(name, ".lock") == 0 || strcmp(name, ".control") == 0 ||
	       strcmp(name, "checkpoint") == 0 || strcmp(name, ".checkpoint.new") == 0;
}

static bool is_chunk(const char *name)
{
	static const char gone[] = ".gone-"; /* a chunk whose removal was interrupted */
	struct chunk_name parsed;

	if (strncmp(name, gone, sizeof(gone) - 1) == 0)
		name += sizeof(gone) - 1;
	return chunk_name_parse(name, &parsed);
}

static bool is_in_chunk(const char *name)
{
	return chunk_file_is_stream(name) || strcmp(name, METADATA_NAME) == 0 ||
	       strcmp(name, MANIFEST_NAME) == 0 || strcmp(name, "." MANIFEST_NAME ".new") == 0 ||
	       strcmp(name, "." METADATA_NAME ".new") == 0 || strcmp(name, RECOVERED_NEW) == 0;
}

/* A new descriptor of a directory, at its first entry. */
static DIR *entries_of(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* The owners whose files may be removed. */
struct owners {
	uid_t self, other;
};

static bool is_ours(const struct owners *owners, const struct stat *st)
{
	return st->st_uid == owners->self || st->st_uid == owners->other;
}

/* Whether the chunk belongs to them, and has only files of a chunk. */
static bool chunk_is_ours(int parent, const char *name, const struct owners *owners)
{
	DIR *d = entries_of(parent, name);
	struct dirent *entry;
	struct stat st;
	bool ours = d && fstat(dirfd(d), &st) == 0 && is_ours(owners, &st);

	while (ours && (entry = readdir(d)))
		ours = is_dots(entry->d_name) || is_in_chunk(entry->d_name);
	if (d)
		closedir(d);
	return ours;
}

static int look_through(int dir, const char *path, const struct owners *owners, struct error *e)
{
	DIR *d = entries_of(dir, ".");
	struct dirent *entry;
	int err = 0;

	if (!d)
		return error_set(e, errno, "cannot list %s", path);
	while (!err && (entry = readdir(d))) {
		const char *name = entry->d_name;

		if (!is_dots(name) && !is_beside(name) &&
		    !(is_chunk(name) && chunk_is_ours(dir, name, owners)))
			err = error_say(e, ENOTEMPTY,
					"%s/%s is not part of a recording: it is left alone", path,
					name);
	}
	closedir(d);
	return err;
}

static int take_away(int dir, const char *path, struct error *e)
{
	DIR *d = entries_of(dir, ".");
	struct dirent *entry;
	int err = 0;

	if (!d)
		return error_set(e, errno, "cannot remove %s", path);
	while (!err && (entry = readdir(d))) {
		if (is_chunk(entry->d_name))
			err = chunk_directory_remove_at(dir, entry->d_name);
		else if (is_beside(entry->d_name))
			err = unlinkat(dir, entry->d_name, 0) < 0 ? -errno : 0;
		if (err)
			error_set(e, err, "cannot remove %s/%s", path, entry->d_name);
	}
	closedir(d);
	return err;
}

/* Locks a recording that no recorder uses. -1: it has no lock file; -EBUSY. */
static int lock_try(int dir)
{
	int fd = openat(dir, ".lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return fd < 0 ? -1 : fd;
	close(fd);
	return -EBUSY;
}

/* A recording that may be removed: its directory and, if there is one, its lock. */
struct removable {
	int dir, lock;
};

static void removable_close(const struct removable *r)
{
	if (r->lock >= 0)
		close(r->lock);
	if (r->dir >= 0)
		close(r->dir);
}

/* Close it in any case. */
static int removable_open(struct removable *r, const char *path, const struct chunk_owner *owner,
			  struct error *e)
{
	const struct owners owners = {geteuid(), owner ? owner->uid : geteuid()};
	struct stat st;

	r->lock = -1;
	r->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (r->dir < 0 || fstat(r->dir, &st) < 0)
		return error_set(e, errno, "cannot remove %s", path);
	if (!is_ours(&owners, &st))
		return error_say(e, EPERM, "%s belongs to another user: it is left alone", path);
	r->lock = lock_try(r->dir);
	return r->lock == -EBUSY ? error_say(e, EBUSY, "a recorder is using %s", path)
				 : look_through(r->dir, path, &owners, e);
}

int recording_removable(const char *path, const struct chunk_owner *owner, struct error *e)
{
	struct removable r;
	int err = removable_open(&r, path, owner, e);

	removable_close(&r);
	return err;
}

int recording_remove(const char *path, const struct chunk_owner *owner, struct error *e)
{
	struct removable r;
	int err = removable_open(&r, path, owner, e);

	if (!err)
		err = take_away(r.dir, path, e);
	if (!err && rmdir(path) < 0)
		err = error_set(e, errno, "cannot remove %s", path);
	removable_close(&r);
	return err;
}
