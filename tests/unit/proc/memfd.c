/* SPDX-License-Identifier: Apache-2.0 */
/* A memfd is found by its name, and what only looks like it is not. */
#include "proc/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/check.h"
#include "tests/unit/proc/silent.h"

#define NAME "a_ring"
#define BYTES (1 << 20)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const struct memfd_wanted wanted = {.name = NAME, .seals = SEALS, .size_bytes = BYTES};
static pid_t child;

static int memfd_make(const char *name, u64 size, int seals)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* A child that maps the file, and keeps the descriptor if `keep`. */
static void child_start(int fd, bool keep)
{
	int ready[2];
	char byte;

	CHECK_EQ(pipe(ready), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		volatile char *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if ((void *)data == MAP_FAILED)
			_exit(1);
		if (!keep)
			close(fd);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void check_found(bool keep)
{
	int fd = memfd_make(NAME, BYTES, SEALS);
	struct memfd_found found = {0};
	struct stat info, own;
	int result;

	child_start(fd, keep);
	result = memfd_find(child, &wanted, &found, 1, NULL);
	child_end();
	CHECK_EQ(result, 1);
	CHECK_EQ(fstat(fd, &own), 0);
	CHECK_EQ(fstat(found.fd, &info), 0);
	CHECK_EQ(info.st_ino, own.st_ino);
	CHECK_EQ(found.inode, own.st_ino);
	CHECK_EQ(pwrite(found.fd, "x", 1, 64), 1); /* what was found can be written */
	close(found.fd);
	close(fd);
}

static void check_refused(int fd)
{
	struct memfd_found found = {.fd = -7};
	int result;

	CHECK(fd >= 0);
	child_start(fd, true);
	result = memfd_find(child, &wanted, &found, 1, NULL);
	child_end();
	close(fd);
	CHECK_EQ(result, 0);
	CHECK_EQ(found.fd, -7);
}

TEST(memfd_with_its_descriptor)
{
	check_found(true);
}

/* A program that closes all its descriptors keeps the mapping. */
TEST(memfd_without_descriptor)
{
	check_found(false);
}

/* A mapping is opened by a privilege that not every recorder has. */
TEST(memfd_that_may_not_be_opened)
{
	int fd = memfd_make(NAME, BYTES, SEALS), status = -1;
	pid_t finder;

	child_start(fd, false);
	close(fd);
	finder = fork();
	if (!finder) {
		struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct data[2];
		struct memfd_found found;

		if (syscall(SYS_capget, &header, data))
			_exit(2);
		data[0].effective &= ~(1u << CAP_SYS_ADMIN);
		data[1].effective &= ~(1u << (CAP_CHECKPOINT_RESTORE - 32));
		if (syscall(SYS_capset, &header, data))
			_exit(2);
		_exit(memfd_find(child, &wanted, &found, 1, NULL) == -ENXIO ? 0 : 1);
	}
	CHECK_EQ(waitpid(finder, &status, 0), finder);
	child_end();
	CHECK_EQ(status, 0);
}

TEST(not_sealed)
{
	check_refused(memfd_make(NAME, BYTES, 0));
	check_refused(memfd_make(NAME, BYTES, F_SEAL_GROW | F_SEAL_SEAL));
}

TEST(another_size)
{
	check_refused(memfd_make(NAME, BYTES / 2, SEALS));
}

TEST(another_name)
{
	check_refused(memfd_make(NAME "s", BYTES, SEALS));
}

/* A file on a disk may have any name. */
TEST(a_file_of_that_name)
{
	char folder[] = "/tmp/memfd_find_XXXXXX", path[128];
	int fd;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/memfd:%s (deleted)", folder, NAME);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	unlink(path);
	rmdir(folder);
	CHECK(fd >= 0 && !ftruncate(fd, (off_t)BYTES));
	check_refused(fd);
}

/* ---- a file system that does not answer ---- */

TEST(a_file_system_that_does_not_answer)
{
	struct memfd_found found;
	const struct silent_file file = {"memfd:" NAME " (deleted)", PROT_READ, MAP_SHARED};
	struct silent silent = silent_start(&file);
	int status = -1;
	pid_t finder;

	finder = fork();
	if (!finder)
		_exit(memfd_find(silent.mapper, &wanted, &found, 1, NULL) == 0 ? 0 : 1);
	for (int i = 0; i < 2000 && waitpid(finder, &status, WNOHANG) == 0; i++)
		usleep(10000);
	silent_end(&silent);
	if (status == -1)
		waitpid(finder, NULL, 0);
	CHECK_EQ(status, 0);
}

TEST(none_and_no_process)
{
	struct memfd_found found;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	CHECK_EQ(memfd_find(getpid(), &wanted, &found, 1, NULL), 0);
	CHECK_EQ(memfd_find(pid, &wanted, &found, 1, NULL), -ESRCH);
}

TEST_MAIN()
