/* SPDX-License-Identifier: Apache-2.0 */
/* A memfd is found by its name, and what only looks like it is not. */
#include "capture/memfd_find.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/check.h"

#define NAME "a_ring"
#define BYTES (1 << 20)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const struct memfd_wanted wanted = {NAME, SEALS, BYTES};
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
	result = memfd_find(child, &wanted, &found, NULL);
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
	result = memfd_find(child, &wanted, &found, NULL);
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

#define HUNG_NAME "memfd:" NAME " (deleted)"

static void fuse_reply(int fd, const struct fuse_in_header *in, const void *body, size_t len)
{
	struct {
		struct fuse_out_header head;
		u8 body[128];
	} out = {.head = {.len = (u32)(sizeof(out.head) + len), .unique = in->unique}};

	memcpy(out.body, body, len);
	if (write(fd, &out, out.head.len) < 0)
		_exit(1);
}

static void fuse_answer(int fd, const struct fuse_in_header *in)
{
	struct fuse_attr attr = {
		.ino = in->nodeid, .mode = S_IFDIR | 0755, .nlink = 1, .size = BYTES};
	struct fuse_init_out init = {.major = 7, .minor = 12, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = 2};
	struct fuse_attr_out attributes = {0};
	struct fuse_open_out opened = {0};

	if (in->nodeid != 1 || in->opcode == FUSE_LOOKUP)
		attr.mode = S_IFREG | 0777;
	entry.attr = attributes.attr = attr;
	entry.attr.ino = 2;
	if (in->opcode == FUSE_INIT)
		fuse_reply(fd, in, &init, FUSE_COMPAT_22_INIT_OUT_SIZE);
	else if (in->opcode == FUSE_LOOKUP)
		fuse_reply(fd, in, &entry, sizeof(entry));
	else if (in->opcode == FUSE_GETATTR)
		fuse_reply(fd, in, &attributes, sizeof(attributes));
	else if (in->opcode == FUSE_OPEN)
		fuse_reply(fd, in, &opened, sizeof(opened));
}

/* Answers what it is asked, until it is stopped. */
static void fuse_serve(int fd)
{
	static u8 request[1 << 16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, request, sizeof(request)) > 0)
		fuse_answer(fd, (const void *)request);
	_exit(0);
}

/* Maps a file of a file system of its own, which nobody else can reach; then that is silent. */
static void hung_run(int ready)
{
	char folder[] = "/tmp/memfd_find_XXXXXX", path[128], options[128];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;
	pid_t server;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(folder) || mount("fathom-test", folder, "fuse", 0, options))
		_exit(77);
	server = fork();
	if (server == 0)
		fuse_serve(fuse);
	close(fuse);
	snprintf(path, sizeof(path), "%s/%s", folder, HUNG_NAME);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(78);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	kill(server, SIGSTOP);
	if (write(ready, &server, sizeof(server)) == sizeof(server))
		pause();
	_exit(0);
}

/* The process that maps, and the one that is silent: its end lets go of whoever waits for it. */
static int hung_start(pid_t *server)
{
	int ready[2], status;

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		hung_run(ready[1]);
	close(ready[1]);
	status = read(ready[0], server, sizeof(*server)) == sizeof(*server);
	close(ready[0]);
	if (status)
		return 0;
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

TEST(a_file_system_that_does_not_answer)
{
	struct memfd_found found;
	int failed, status = -1;
	pid_t finder, server;

	if (geteuid() != 0)
		SKIP("mounting needs root");
	failed = hung_start(&server);
	if (failed == 77)
		SKIP("no file system can be made here");
	CHECK_EQ(failed, 0);
	finder = fork();
	if (!finder)
		_exit(memfd_find(child, &wanted, &found, NULL) == 0 ? 0 : 1);
	for (int i = 0; i < 2000 && waitpid(finder, &status, WNOHANG) == 0; i++)
		usleep(10000);
	kill(server, SIGKILL);
	child_end();
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
	CHECK_EQ(memfd_find(getpid(), &wanted, &found, NULL), 0);
	CHECK_EQ(memfd_find(pid, &wanted, &found, NULL), -ESRCH);
}

TEST_MAIN()
