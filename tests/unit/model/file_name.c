/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file_name.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/unit/check.h"

/* The kernel's own word for a descriptor of this process. */
static void check_against_kernel(int fd, u16 kind)
{
	char path[64], truth[128] = "", name[128] = "";
	struct file_ref file = {.kind = kind};
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(readlink(path, truth, sizeof(truth) - 1) > 0);
	file.key = st.st_ino;
	CHECK(file_name(name, sizeof(name), &file));
	CHECK_STR(name, truth);
	close(fd);
}

TEST(names_are_those_of_the_kernel)
{
	sigset_t none;
	int ends[2], fanotify;

	sigemptyset(&none);
	CHECK_EQ(pipe(ends), 0);
	check_against_kernel(ends[0], FILE_KIND_pipe);
	check_against_kernel(ends[1], FILE_KIND_pipe);
	check_against_kernel(socket(AF_UNIX, SOCK_STREAM, 0), FILE_KIND_unix);
	check_against_kernel(socket(AF_INET, SOCK_STREAM, 0), FILE_KIND_tcp);
	check_against_kernel(eventfd(0, 0), FILE_KIND_eventfd);
	check_against_kernel(timerfd_create(CLOCK_MONOTONIC, 0), FILE_KIND_timerfd);
	check_against_kernel(signalfd(-1, &none, 0), FILE_KIND_signalfd);
	check_against_kernel(epoll_create1(0), FILE_KIND_epoll);
	check_against_kernel(inotify_init(), FILE_KIND_inotify);
	fanotify = fanotify_init(0, 0); /* root's, or of newer kernels */
	if (fanotify >= 0)
		check_against_kernel(fanotify, FILE_KIND_fanotify);
}

TEST(files_with_a_path_have_no_other_name)
{
	char name[8] = "before";
	struct file_ref file = {.kind = FILE_KIND_regular, .key = 7};

	CHECK(!file_name(name, sizeof(name), &file));
	file.kind = FILE_KIND_anon_other;
	CHECK(!file_name(name, sizeof(name), &file));
	file.kind = 60000;
	CHECK(!file_name(name, sizeof(name), &file));
	CHECK_STR(name, "before");
	file.kind = FILE_KIND_pipe;
	CHECK(file_name(name, sizeof(name), &file));
	CHECK_STR(name, "pipe:[7");
}

TEST_MAIN()

TEST(paths_are_folded)
{
	static const char *const paths[][2] = {
		{"//a/./b//c", "/a/b/c"}, {"/.", "/"}, {"/./", "/"},   {"/a/..", "/a/.."},
		{"a//b/.", "a/b"},	  {"", ""},    {"./a", "./a"},
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char path[32];

		strcpy(path, paths[i][0]);
		file_path_fold(path);
		CHECK_STR(path, paths[i][1]);
	}
}
