/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of `fathom up`: which one root gives to the user, and what the user cannot do. */
#include "up/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unit/up/scratch.h"

#define SOMEBODY 65534

static const char *at(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	scratch_make();
	snprintf(path, PATH_MAX, "%.4000s/%s", scratch_path, name);
	return path;
}

static struct stat status_of(const char *path)
{
	struct stat st = {0};

	CHECK_EQ(lstat(path, &st), 0);
	return st;
}

static void file_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	close(fd);
}

/* A place for the user nobody. */
static struct place place_make(void)
{
	struct place p = {.dir = -1, .lock = -1};

	if (geteuid() != 0)
		SKIP("only root gives directories to another user");
	CHECK_EQ(place_user(&p, "nobody", NULL), 0);
	CHECK_EQ(p.login.owner.uid, SOMEBODY);
	return p;
}

static int opened(const char *path, struct error *e)
{
	struct place p = place_make();
	int err = place_open(&p, path, e);

	place_close(&p);
	return err;
}

TEST(a_new_directory_is_the_users_and_so_is_its_lock)
{
	mode_t before = umask(022);

	CHECK_EQ(opened(at("new/above/kept"), NULL), 0);
	umask(before);
	CHECK_EQ(status_of(at("new/above/kept")).st_uid, SOMEBODY);
	CHECK_EQ(status_of(at("new/above/kept")).st_mode & 0777, 0700);
	CHECK_EQ(status_of(at("new/above/kept/.lock")).st_uid, SOMEBODY);
	CHECK_EQ(status_of(at("new/above")).st_uid, 0);
	CHECK_EQ(status_of(at("new/above")).st_mode & 0777, 0755); /* others may search it */
	CHECK_EQ(opened(at("new/above/kept"), NULL), 0);
}

TEST(an_empty_directory_becomes_the_users)
{
	CHECK_EQ(mkdir(at("empty"), 0755), 0);
	CHECK_EQ(opened(at("empty"), NULL), 0);
	CHECK_EQ(status_of(at("empty")).st_uid, SOMEBODY);
}

TEST(a_directory_with_settings_alone_becomes_the_users_and_they_do_not)
{
	CHECK_EQ(mkdir(at("settings"), 0755), 0);
	file_write(at("settings/" UP_SETTINGS));
	CHECK_EQ(opened(at("settings"), NULL), 0);
	CHECK_EQ(status_of(at("settings")).st_uid, SOMEBODY);
	CHECK_EQ(status_of(at("settings/" UP_SETTINGS)).st_uid, 0);
}

TEST(a_new_file_system_becomes_the_users)
{
	CHECK_EQ(mkdir(at("volume"), 0755), 0);
	CHECK_EQ(mkdir(at("volume/lost+found"), 0700), 0);
	CHECK_EQ(opened(at("volume"), NULL), 0);
	CHECK_EQ(status_of(at("volume")).st_uid, SOMEBODY);
	CHECK_EQ(status_of(at("volume/lost+found")).st_uid, 0);
}

TEST(a_directory_in_use_stays_roots)
{
	struct error e = {0};

	CHECK_EQ(mkdir(at("programs"), 0755), 0);
	file_write(at("programs/tool"));
	CHECK_EQ(opened(at("programs"), &e), -EPERM);
	CHECK_EQ(status_of(at("programs")).st_uid, 0);
	CHECK(strstr(e.text, "is in use") != NULL && strstr(e.text, "-o") != NULL);
}

TEST(a_directory_of_all_users_stays_roots)
{
	struct error e = {0};

	CHECK_EQ(mkdir(at("shared"), 0755), 0);
	CHECK_EQ(chmod(at("shared"), 01777), 0);
	CHECK_EQ(opened(at("shared"), &e), -EPERM);
	CHECK_EQ(status_of(at("shared")).st_uid, 0);
	CHECK(strstr(e.text, "chmod 700") != NULL && !strstr(e.text, "in use"));
}

TEST(the_directory_of_a_third_user_is_refused)
{
	struct place p = place_make();
	struct error e = {0};

	place_close(&p);
	CHECK_EQ(mkdir(at("theirs"), 0700), 0);
	CHECK_EQ(chown(at("theirs"), 12345, 12345), 0);
	CHECK_EQ(opened(at("theirs"), &e), -EPERM);
	CHECK(strstr(e.text, "belongs to user 12345") != NULL);
}

TEST(a_second_one_is_told_that_the_directory_is_held)
{
	struct place p = place_make();

	CHECK_EQ(place_open(&p, at("held"), NULL), 0);
	CHECK_EQ(opened(at("held"), NULL), -EBUSY);
	place_close(&p);
}

TEST(a_lock_that_is_a_link_is_not_followed)
{
	struct place p = place_make();

	place_close(&p);
	file_write(at("secret"));
	CHECK_EQ(opened(at("linked"), NULL), 0);
	CHECK_EQ(unlink(at("linked/.lock")), 0);
	CHECK_EQ(symlink(at("secret"), at("linked/.lock")), 0);
	CHECK_EQ(opened(at("linked"), NULL), -ELOOP);
	CHECK_EQ(unlink(at("linked/.lock")), 0);
	CHECK_EQ(link(at("secret"), at("linked/.lock")), 0);
	CHECK_EQ(opened(at("linked"), NULL), 0);
	CHECK_EQ(status_of(at("secret")).st_uid, 0);
}

TEST(a_socket_is_the_users_alone_and_replaces_what_is_there)
{
	struct place p = place_make();
	mode_t before = umask(0);
	struct stat st;
	int fd;

	CHECK_EQ(place_open(&p, at("sockets"), NULL), 0);
	file_write(at("target"));
	CHECK_EQ(chmod(at("target"), 0644), 0);
	CHECK_EQ(symlink(at("target"), at("sockets/" UP_SOCKET)), 0);
	fd = place_listen(&p, UP_SOCKET);
	umask(before);
	CHECK(fd >= 0);
	st = status_of(at("sockets/" UP_SOCKET));
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_EQ(st.st_uid, SOMEBODY);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK_EQ(status_of(at("target")).st_mode & 0777, 0644);
	CHECK_EQ(status_of(at("target")).st_uid, 0);
	file_write(at("mine")); /* the rights to files are root's again */
	CHECK_EQ(status_of(at("mine")).st_uid, 0);
	close(fd);
	place_quit(&p, UP_SOCKET);
	place_close(&p);
}

static void text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(77);
	close(fd);
}

/* 0: it is root itself; 77: no namespace can be made. */
static int root_alone(void)
{
	struct place p = {.dir = -1, .lock = -1};

	if (unshare(CLONE_NEWUSER))
		return 77;
	text_write("/proc/self/setgroups", "deny");
	text_write("/proc/self/uid_map", "0 0 1");
	text_write("/proc/self/gid_map", "0 0 1");
	return place_user(&p, NULL, NULL) || p.login.other || strcmp(p.user, "root") != 0;
}

TEST(where_there_is_no_other_user_root_serves)
{
	int status = 0;
	pid_t child;

	if (geteuid() != 0)
		SKIP("only root makes such a namespace");
	child = fork();
	if (child == 0)
		_exit(root_alone());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("no user namespace can be made");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(nothing_is_left)
{
	scratch_remove();
}

TEST_MAIN()
