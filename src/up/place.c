/* SPDX-License-Identifier: Apache-2.0 */
#include "up/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define LOCK_FILE ".lock"
#define PATIENCE_NS 2000000000u
#define LOOK_MS 20

static const struct passwd *user_find(const char *name)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return getpwuid(geteuid());
	if (name)
		return getpwnam(name);
	user = getpwnam("fathom");
	return user ? user : getpwnam("nobody");
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

/* A directory that was made just now becomes the user's; one of another user stays. */
static int owner_settle(struct place *p, const char *path, struct error *e)
{
	uid_t uid = p->login.other ? p->login.owner.uid : getuid();
	gid_t gid = p->login.other ? p->login.owner.gid : getgid();
	struct stat st;

	if (fstat(p->dir, &st))
		return error_set(e, errno, "cannot use %s", path);
	if (st.st_uid == uid)
		return 0;
	if (st.st_uid == geteuid() && st.st_nlink <= 2 && faccessat(p->dir, "log", F_OK, 0) &&
	    fchown(p->dir, uid, gid) == 0)
		return 0;
	return error_say(e, EPERM,
			 "%s belongs to user %u, and spans are kept as user %s: choose another "
			 "directory with -o%s",
			 path, st.st_uid, p->user,
			 geteuid() == 0 ? ", or that user with --user" : "");
}

static int lock_take(struct place *p, const char *path, struct error *e)
{
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;

	p->lock = openat(p->dir, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (p->lock < 0)
		return error_set(e, errno, "cannot open %s/" LOCK_FILE, path);
	while (flock(p->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return error_set(e, errno, "cannot lock %s", path);
		if (clock_now_ns() >= until_ns)
			return error_say(e, EBUSY,
					 "another 'fathom up' uses %s: stop that one, or choose "
					 "another directory with -o",
					 path);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

int place_open(struct place *p, const char *path, struct error *e)
{
	int err = path_make(path);

	if (err)
		return error_set(e, err, "cannot make %s", path);
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return error_set(e, errno, "cannot open %s", path);
	err = owner_settle(p, path, e);
	return err ? err : lock_take(p, path, e);
}

int place_listen(const struct place *p, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.32s", p->dir,
		 name);
	unlinkat(p->dir, name, 0);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    (p->login.other &&
	     fchownat(p->dir, name, p->login.owner.uid, p->login.owner.gid, AT_SYMLINK_NOFOLLOW)) ||
	    fchmodat(p->dir, name, 0600, 0) || listen(fd, 64))
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
