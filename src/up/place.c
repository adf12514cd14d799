/* SPDX-License-Identifier: Apache-2.0 */
#include "up/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "chunk/file.h"

#define LOCK_FILE ".lock"
#define PATIENCE_NS 2000000000u
#define LOOK_MS 20

/* Whether this user namespace has an id; also if that is not known. */
static bool id_is_here(const char *map, unsigned long id)
{
	unsigned long begin, outer, count;
	FILE *file = fopen(map, "re");
	bool here = !file;

	while (file && !here && fscanf(file, "%lu %lu %lu", &begin, &outer, &count) == 3)
		here = id >= begin && id - begin < count;
	if (file)
		fclose(file);
	return here;
}

/* A container may have no other user than a root that has no power outside: then it is that one. */
static const struct passwd *user_find(const char *name)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return getpwuid(geteuid());
	if (name)
		return getpwnam(name);
	user = getpwnam("fathom");
	user = user ? user : getpwnam("nobody");
	return !user || (id_is_here("/proc/self/uid_map", user->pw_uid) &&
			 id_is_here("/proc/self/gid_map", user->pw_gid))
		       ? user
		       : getpwuid(geteuid());
}

int place_user(struct place *p, const char *name, struct error *e)
{
	const struct passwd *user = user_find(name);
	struct chunk_owner owner;

	if (name && geteuid() != 0)
		return error_misuse(e, "only root can choose another user with --user");
	if (!user && geteuid() == 0)
		return error_say(e, ENOENT, "there is no user %s: choose one with --user NAME",
				 name ? name : "fathom or nobody");
	owner = user ? (struct chunk_owner){user->pw_uid, user->pw_gid}
		     : (struct chunk_owner){geteuid(), getegid()};
	if (user)
		snprintf(p->user, sizeof(p->user), "%s", user->pw_name);
	else
		snprintf(p->user, sizeof(p->user), "%u", owner.uid);
	return login_read(&p->login, &owner, e);
}

/* Makes the directory, and those above it, which others may search. */
static int path_make(const char *path)
{
	char text[PATH_MAX];

	if (strlen(path) >= sizeof(text))
		return -ENAMETOOLONG;
	strcpy(text, path);
	for (char *at = text + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(text, 0755); /* what fails shows below */
		*at = '/';
	}
	return mkdir(text, 0700) && errno != EEXIST ? -errno : 0;
}

/* Settings are written before the first start, and a new file system has a folder of its own. */
static bool is_nothing(const char *name)
{
	static const char *const names[] = {".", "..", UP_SETTINGS, "lost+found"};
	bool nothing = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !nothing; i++)
		nothing = strcmp(name, names[i]) == 0;
	return nothing;
}

static bool is_empty(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool empty = entries != NULL;

	while (empty && (entry = readdir(entries)))
		empty = is_nothing(entry->d_name);
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
	return empty;
}

/* Says why a directory of another user is not taken, and what helps. */
static int stranger_refuse(const struct place *p, const char *path, const struct stat *st,
			   struct error *e)
{
	bool empty = is_empty(p->dir), root = geteuid() == 0;

	if (root && empty && st->st_uid == 0)
		return error_say(e, EPERM,
				 "other users than root may write to %s: 'chmod 700 %s' first, or "
				 "choose another directory with -o",
				 path, path);
	return error_say(e, EPERM,
			 "%s %sbelongs to user %u, and spans are kept as user %s: choose another "
			 "directory with -o%s",
			 path, empty ? "" : "is in use and ", st->st_uid, p->user,
			 root ? ", or that user with --user" : "");
}

/*
 * A directory that nobody uses becomes the user's: it is as empty as if it was made just now, for
 * one user. Root gives away no other one.
 */
static int owner_settle(struct place *p, const char *path, struct error *e)
{
	uid_t uid = p->login.other ? p->login.owner.uid : getuid();
	gid_t gid = p->login.other ? p->login.owner.gid : getgid();
	struct stat st;

	if (fstat(p->dir, &st))
		return error_set(e, errno, "cannot use %s", path);
	if (st.st_uid == uid)
		return 0;
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH | S_ISVTX) ||
	    !is_empty(p->dir))
		return stranger_refuse(p, path, &st, e);
	return fchown(p->dir, uid, gid)
		       ? error_set(e, errno, "cannot give %s to user %s", path, p->user)
		       : 0;
}

/* The lock belongs to the owner of the directory, who may start without root later. */
static int lock_open(int dir)
{
	int fd = file_make(dir, LOCK_FILE);

	if (fd == -EEXIST) {
		fd = openat(dir, LOCK_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

static int lock_take(struct place *p, const char *path, struct error *e)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;

	int fd = lock_open(p->dir);

	if (fd < 0)
		return error_set(e, fd, "cannot open %s/" LOCK_FILE, path);
	p->lock = fd;
	while (flock(p->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return error_set(e, errno, "cannot lock %s", path);
		if (clock_now_ns() >= until_ns)
			return error_say(e, EBUSY,
					 "another 'fathom up' or 'fathom serve' uses %s: stop that "
					 "one, or choose "
					 "another directory with -o",
					 path);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

int place_open(struct place *p, const char *path, struct error *e)
{
	int err = path_make(path);

	if (err) {
		error_set(e, err, "cannot make %s", path);
	} else {
		p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = p->dir < 0 ? error_set(e, errno, "cannot open %s", path) : 0;
	}
	err = err ? err : owner_settle(p, path, e);
	err = err ? err : lock_take(p, path, e);
	if (err && err != -EPERM && err != -EBUSY) /* these say what to do */
		error_hint(e, "choose another directory with -o");
	return err;
}

int place_become(const struct place *p, char path[PLACE_PATH_BYTES], struct error *e)
{
	int err = p->login.other ? login_take(&p->login) : 0;

	if (err)
		return error_set(e, err, "cannot become user %s", p->user);
	if (p->login.other)
		snprintf(path, PLACE_PATH_BYTES, "/proc/self/fd/%d", p->dir);
	return 0;
}

/*
 * Gives a socket its name in the directory. The user can put another file at that name at any time,
 * so its owner and mode are not changed by name: bind() makes it with the mode of the socket, and
 * for the user whose rights this thread has to files.
 */
static int socket_name(const struct place *p, int fd, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool other = p->login.other;
	int err;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.32s", p->dir,
		 name);
	if (fchmod(fd, 0600))
		return -errno;
	if (other) {
		setfsgid(p->login.owner.gid);
		setfsuid(p->login.owner.uid);
	}
	unlinkat(p->dir, name, 0);
	err = bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (other) {
		setfsuid(geteuid());
		setfsgid(getegid());
	}
	return err;
}

int place_listen(const struct place *p, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = socket_name(p, fd, name);
	if (!err && listen(fd, 64))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

void place_quit(const struct place *p, const char *name)
{
	unlinkat(p->dir, name, 0);
}

void place_close(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	if (p->lock >= 0)
		close(p->lock);
	login_free(&p->login);
	p->dir = p->lock = -1;
}
