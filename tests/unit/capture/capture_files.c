/* SPDX-License-Identifier: Apache-2.0 */
/* Records what files have: their names, paths that cannot be read, and blocks on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/capture/recording.h"

static int truth_files(void)
{
	int fds[2];

	dup2(open("/usr/../etc//passwd", O_RDONLY), 40);
	dup2(open("/dev/null", O_WRONLY), 41);
	dup2(open("/proc/self/status", O_RDONLY), 42);
	dup2(eventfd(0, 0), 43);
	dup2(open("/", O_RDONLY), 44);
	dup2(socket(AF_UNIX, SOCK_STREAM, 0), 45);
	if (pipe(fds))
		return 1;
	dup2(fds[0], 46);
	dup2(open("/dev/shm/fathom-test-removed", O_CREAT | O_RDWR, 0600), 47);
	unlink("/dev/shm/fathom-test-removed");
	for (int fd = 3; fd < 20; fd++)
		close(fd);
	for (int fd = 40; fd < 48; fd++) {
		char path[64], name[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, name, 63) < 0)
			return 1;
		dprintf(1, "%s\n", name);
	}
	return 0;
}

/* A call that is refused before the kernel looks at its path, which is not in memory. */
static int truth_path_unread(void)
{
	char name[] = "/tmp/fathom-capture-XXXXXX";
	int fd = mkstemp(name);
	const char *path;

	if (fd < 0 || unlink(name) || pwrite(fd, "/etc/passwd", 12, 0) != 12)
		return 1;
	path = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	return path == MAP_FAILED || syscall(SYS_openat, AT_FDCWD, path, __O_TMPFILE, 0) != -1 ||
	       errno != EINVAL;
}

#define DEEP 60 /* directories: more than one name is followed through (PATH_DEPTH) */
#define DEEP_OPENS 100

/* Opens what a symbolic link stands for: a short path, and a name that is cut. */
static int truth_name_cut(void)
{
	char folder[64 + 2 * DEEP] = "/tmp/fathom-deep-XXXXXX", link[64];
	size_t base = sizeof("/tmp/fathom-deep-XXXXXX") - 1, end = base;
	int failed = mkdtemp(folder) == NULL;

	snprintf(link, sizeof(link), "%s/link", folder);
	for (int i = 0; i < DEEP; i++) {
		memcpy(folder + end, "/d", 3);
		end += 2;
		failed |= mkdir(folder, 0700);
	}
	failed |= symlink(folder, link);
	for (int i = 0; i < DEEP_OPENS; i++) {
		int fd = open(link, O_RDONLY | O_DIRECTORY);

		failed |= fd < 0 || close(fd);
	}
	failed |= unlink(link);
	for (; end >= base; end -= 2) {
		folder[end] = '\0';
		failed |= rmdir(folder);
	}
	return failed;
}

#define LONG_OPENS 20
#define LONG_BYTES 309

/* A path of so many bytes that leads to a short name. */
static int truth_path_long(void)
{
	char path[LONG_BYTES + 1];

	for (int i = 0; i < LONG_BYTES - 9; i += 2)
		memcpy(path + i, "/.", 2);
	memcpy(path + LONG_BYTES - 9, "/dev/zero", 10);
	for (int i = 0; i < LONG_OPENS; i++) {
		int fd = open(path, O_RDONLY);

		if (fd < 0 || close(fd))
			return 1;
	}
	return 0;
}

static int truth_disk(void)
{
	char path[] = "/tmp/fathom-disk-XXXXXX";
	int fd = mkstemp(path);
	void *block = aligned_alloc(4096, 4096);

	unlink(path);
	memset(block, 1, 4096);
	if (fallocate(fd, 0, 0, 1 << 20) || fcntl(fd, F_SETFL, O_DIRECT))
		return 77;
	for (int i = 0; i < 16; i++) {
		if (pwrite(fd, block, 4096, i * 65536) != 4096)
			return 77;
	}
	return 0;
}

#define MADE 10 /* its status, without any */

/* Descriptors of processes as calls give them that return something else. */
static int truth_processes(void)
{
	int by_clone = -1, by_clone3 = -1, of_peer = -1, pair[2], made = MADE;
	struct clone_args args = {
		.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&by_clone3, .exit_signal = SIGCHLD};
	socklen_t len = sizeof(of_peer);
	long child;

	child = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &by_clone, 0, 0);
	if (child == 0)
		_exit(0);
	made += child > 0 && waitpid((pid_t)child, NULL, 0) == child && by_clone >= 0;
	child = syscall(SYS_clone, SIGCHLD, 0, &by_clone, 0, 0); /* without */
	if (child == 0)
		_exit(0);
	waitpid((pid_t)child, NULL, 0); /* the recording ends with this process */
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		_exit(0);
	made += child > 0 && waitpid((pid_t)child, NULL, 0) == child && by_clone3 >= 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	made += getsockopt(pair[0], SOL_SOCKET, 77 /* SO_PEERPIDFD */, &of_peer, &len) == 0;
	/* another option, which is read with the same value */
	len = sizeof(by_clone);
	if (setsockopt(pair[0], SOL_SOCKET, SO_RCVLOWAT, &by_clone, len) ||
	    getsockopt(pair[0], SOL_SOCKET, SO_RCVLOWAT, &of_peer, &len) || of_peer != by_clone)
		return 2;
	return made;
}

static const struct truth truths[] = {
	{"files", truth_files},
	{"path-unread", truth_path_unread},
	{"name-cut", truth_name_cut},
	{"path-long", truth_path_long},
	{"disk", truth_disk},
	{"processes", truth_processes},
	{NULL, NULL},
};

/* Each name is what readlink says of /proc/PID/fd/N, which the command prints. */
TEST(files_have_their_names)
{
	char path[] = "/tmp/fathom-capture-XXXXXX", line[128];
	struct seen s = {0};
	int status, saved, fd;
	FILE *out;

	need_root();
	fd = mkstemp(path);
	CHECK(fd >= 0);
	saved = dup(1);
	fflush(stdout);
	dup2(fd, 1);
	status = truth_record(&s, "files");
	dup2(saved, 1);
	out = fdopen(fd, "r");
	rewind(out);
	CHECK_EQ(status, 0);
	for (int i = 40; i < 48; i++) {
		CHECK(fgets(line, sizeof(line), out) != NULL);
		line[strcspn(line, "\n")] = '\0';
		if (i == 42) /* /proc/self is the process */
			CHECK(strncmp(s.fd_names[i], "/proc/", 6) == 0);
		if (i == 47) /* it was there when it was opened */
			line[strcspn(line, " ")] = '\0';
		CHECK_STR(s.fd_names[i], line);
	}
	for (int i = 3; i < 20; i++)
		CHECK_STR(s.fd_names[i], "");
	fclose(out);
	unlink(path);
	CHECK_EQ(s.lost, 0);
	capture_close(s.c);
}

/* Each descriptor is told once, however it comes. */
TEST(descriptors_of_processes_are_told)
{
	struct capture_counts counts;
	struct seen s = {.fd_name = "anon_inode:[pidfd]"};
	int status;

	need_root();
	status = truth_record(&s, "processes");
	capture_counts(s.c, &counts);
	capture_close(s.c);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) >= MADE + 2);
	CHECK_EQ(s.fd_named, WEXITSTATUS(status) - MADE);
	CHECK_EQ(counts.incomplete, 0);
}

TEST(a_path_that_is_not_in_memory_is_counted)
{
	struct capture_counts counts;
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "path-unread");
	capture_counts(s.c, &counts);
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(counts.incomplete, 1);
}

TEST(a_name_that_is_cut_is_counted_once)
{
	struct capture_counts counts;
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "name-cut");
	capture_counts(s.c, &counts);
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(counts.incomplete, DEEP_OPENS);
}

/* Records of the opens of a long path. */
struct long_opens {
	u64 paths, names;
};

static int long_opens_see(void *arg, const struct capture_stream *stream,
			  const struct record_head *head)
{
	const struct record_path *path = (const void *)head;
	const struct record_fd *name = (const void *)head;
	struct long_opens *seen = arg;

	(void)stream;
	seen->paths += head->kind == RECORD_path && path->path_len == LONG_BYTES;
	seen->names += head->kind == RECORD_fd && name->op == FD_open && name->path_len == 9 &&
		       memcmp(name->path, "/dev/zero", 9) == 0;
	return 0;
}

TEST(a_long_path_is_told_once)
{
	struct capture_options options = {0};
	char *argv[] = TRUTH_COMMAND("path-long");
	struct long_opens seen = {0};
	struct capture_sink sink = {&seen, long_opens_see, NULL};
	struct capture_counts counts;
	struct capture *c;
	int status;

	need_root();
	recording_begin(&c, &options, &sink, argv);
	CHECK_OK(capture_release(c, &failure));
	status = recording_end(c, &sink, capture_child(c));
	capture_counts(c, &counts);
	capture_close(c);
	CHECK_EQ(status, 0);
	CHECK_EQ(counts.incomplete, 0);
	CHECK_EQ(seen.paths, LONG_OPENS);
	CHECK_EQ(seen.names, LONG_OPENS);
}

TEST(block_io_belongs_to_who_asked_for_it)
{
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "disk");
	capture_close(s.c);
	if (WEXITSTATUS(status) == 77 || s.records[RECORD_block] == 0)
		SKIP("/tmp lies on no disk that takes direct I/O");
	CHECK_EQ(status, 0);
	CHECK_EQ(s.written, 16);
}

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
