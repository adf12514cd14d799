/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chunk/file.h"

#define LOCK_NAME ".lock"

/* Skips at least `min` digits and `end`. Returns the rest, or NULL if they are not there. */
static const char *parse_digits(const char *text, size_t min, char end, uint64_t *value)
{
	size_t n = strspn(text, "0123456789");

	if (n < min || n > 20 || text[n] != end)
		return NULL;
	errno = 0;
	*value = strtoull(text, NULL, 10);
	return errno ? NULL : text + n + (end != '\0');
}

bool chunk_name_parse(const char *text, struct chunk_name *name)
{
	struct chunk_name n = {.open = strncmp(text, ".open-", 6) == 0};
	const char *at = text;

	if (strlen(text) >= sizeof(n.name))
		return false;
	at = parse_digits(n.open ? at + 6 : at, 20, '-', &n.begin_unix_ns);
	if (at && !n.open)
		at = parse_digits(at, 20, '-', &n.end_unix_ns);
	if (!at || !parse_digits(at, 6, '\0', &n.seq))
		return false;
	strcpy(n.name, text);
	*name = n;
	return true;
}

void chunk_name_sealed(char *text, uint64_t begin_unix_ns, uint64_t end_unix_ns, uint64_t seq)
{
	snprintf(text, CHUNK_NAME_BYTES, "%020" PRIu64 "-%020" PRIu64 "-%06" PRIu64, begin_unix_ns,
		 end_unix_ns, seq);
}

void chunk_name_open(char *text, uint64_t begin_unix_ns, uint64_t seq)
{
	snprintf(text, CHUNK_NAME_BYTES, ".open-%020" PRIu64 "-%06" PRIu64, begin_unix_ns, seq);
}

static int compare_names(const void *a, const void *b)
{
	const struct chunk_name *x = a, *y = b;

	if (x->begin_unix_ns != y->begin_unix_ns)
		return x->begin_unix_ns < y->begin_unix_ns ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return strcmp(x->name, y->name);
}

int recording_directory(const char *dir, const struct recording_hold *hold)
{
	int fd = openat(hold ? hold->dir : AT_FDCWD, hold ? "." : dir,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int chunk_names_list(const char *dir, const struct recording_hold *hold, struct chunk_names *names,
		     struct error *e)
{
	int fd = recording_directory(dir, hold);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct chunk_names list = {0};
	size_t capacity = 0;
	struct dirent *entry;

	if (!d) {
		int err = fd < 0 ? fd : -errno;

		if (fd >= 0)
			close(fd);
		return error_set(e, err, "cannot list %s", dir);
	}
	while ((entry = readdir(d))) {
		struct chunk_name name;

		if (!chunk_name_parse(entry->d_name, &name))
			continue;
		if (list.count == capacity) {
			struct chunk_name *more;

			capacity = capacity ? 2 * capacity : 64;
			more = realloc(list.names, capacity * sizeof(*more));
			if (!more) {
				closedir(d);
				chunk_names_free(&list);
				return error_set(e, ENOMEM, "cannot list %s", dir);
			}
			list.names = more;
		}
		list.names[list.count++] = name;
	}
	closedir(d);
	if (list.count)
		qsort(list.names, list.count, sizeof(*list.names), compare_names);
	*names = list;
	return 0;
}

void chunk_names_free(struct chunk_names *names)
{
	free(names->names);
	*names = (struct chunk_names){0};
}

int chunk_directory_remove_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : chunk_directory_remove(parent, name, fd);
}

int chunk_directory_remove(int parent, const char *name, int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *entry;

	if (!d) {
		int err = -errno;

		close(dir);
		return err;
	}
	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dir, entry->d_name, 0);
	}
	closedir(d);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int chunk_remove(const char *path, struct error *e)
{
	int err = chunk_directory_remove_at(AT_FDCWD, path);

	return err ? error_set(e, err, "cannot remove %s", path) : 0;
}

int chunk_directory_make(int parent, const char *name, const struct chunk_owner *owner, int *dir)
{
	struct stat st;
	int fd, err = 0;

	if (mkdirat(parent, name, 0700) < 0)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		err = -errno;
		unlinkat(parent, name, AT_REMOVEDIR);
		return err;
	}
	/* a user who may write to the parent may have replaced it */
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_uid != geteuid())
		err = -EPERM;
	else if (owner && owner->uid != st.st_uid && fchown(fd, owner->uid, owner->gid) < 0)
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	*dir = fd;
	return 0;
}

int recording_make(const char *dir, const struct chunk_owner *owner, struct error *e)
{
	int fd = -1, err = chunk_directory_make(AT_FDCWD, dir, owner, &fd);

	if (err)
		return error_set(e, err, "cannot make %s", dir);
	close(fd);
	return 0;
}

bool recording_is_written(const char *dir)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	bool written;

	if (at < 0)
		return false;
	fd = openat(at, LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(at);
	if (fd < 0)
		return false;
	written = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return written;
}

/* A process that checks the lock holds it for a moment. */
static int lock_take(int fd)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == 10)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Opens the lock file, and makes it for the owner of its directory if it is missing. */
static int lock_open(int dir)
{
	int fd = file_make(dir, LOCK_NAME);

	if (fd == -EEXIST) {
		fd = openat(dir, LOCK_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

/* Takes over the descriptor of the directory. */
static int hold_take(const char *dir, int at, struct recording_hold *hold, struct error *e)
{
	int fd = lock_open(at), err;

	if (fd < 0) {
		close(at);
		return error_set(e, fd, "cannot open %s/" LOCK_NAME, dir);
	}
	err = lock_take(fd);
	if (err) {
		close(at);
		close(fd);
		if (err == -EWOULDBLOCK)
			return error_say(e, EBUSY, "another recorder writes to %s", dir);
		return error_set(e, err, "cannot lock %s", dir);
	}
	*hold = (struct recording_hold){.dir = at, .lock = fd};
	return 0;
}

int recording_lock(const char *dir, const struct chunk_owner *owner, struct recording_hold *hold,
		   struct error *e)
{
	int at = -1, err = chunk_directory_make(AT_FDCWD, dir, owner, &at);

	if (err == -EEXIST) {
		at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = at < 0 ? -errno : 0;
	}
	return err ? error_set(e, err, "cannot make %s", dir) : hold_take(dir, at, hold, e);
}

int recording_lock_opened(const char *dir, int fd, struct recording_hold *hold, struct error *e)
{
	int at = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return at < 0 ? error_set(e, errno, "cannot open %s", dir) : hold_take(dir, at, hold, e);
}

int recording_make_at(int parent, const char *name, const struct chunk_owner *owner,
		      struct error *e)
{
	struct stat st = {.st_uid = owner ? owner->uid : geteuid()};
	uid_t uid = st.st_uid;
	int fd = -1, err = chunk_directory_make(parent, name, owner, &fd);

	if (err == -EEXIST) {
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		err = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	}
	if (err)
		err = error_set(e, err, "cannot make %s", name);
	else if (st.st_uid != uid)
		err = error_say(e, EPERM, "%s is of user %u: only user %u may own it", name,
				st.st_uid, uid);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

void recording_unlock(struct recording_hold *hold)
{
	if (hold->dir >= 0)
		close(hold->dir);
	if (hold->lock >= 0)
		close(hold->lock);
	*hold = (struct recording_hold){-1, -1};
}
