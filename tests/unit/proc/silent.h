/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has mapped a file of a file system which then does not answer any more. */
#ifndef TESTS_UNIT_PROC_SILENT_H
#define TESTS_UNIT_PROC_SILENT_H

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record/record.h"
#include "tests/unit/check.h"

#define SILENT_BYTES (1 << 20)

struct silent_file {
	const char *name;
	int protection, flags; /* of the mapping */
};

struct silent {
	pid_t mapper;
	pid_t server; /* its end lets go of whoever waits for it */
};

static inline void fuse_reply(int fd, const struct fuse_in_header *in, const void *body, size_t len)
{
	struct {
		struct fuse_out_header head;
		u8 body[128];
	} out = {.head = {.len = (u32)(sizeof(out.head) + len), .unique = in->unique}};

	if (len)
		memcpy(out.body, body, len);
	if (write(fd, &out, out.head.len) < 0)
		_exit(1);
}

static inline void fuse_answer(int fd, const struct fuse_in_header *in)
{
	struct fuse_attr attr = {
		.ino = in->nodeid, .mode = S_IFDIR | 0755, .nlink = 1, .size = SILENT_BYTES};
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
	else if (in->opcode == FUSE_FLUSH)
		fuse_reply(fd, in, NULL, 0);
}

/* Answers what it is asked, until it is stopped. */
static inline void fuse_serve(int fd)
{
	static u8 request[1 << 16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, request, sizeof(request)) > 0)
		fuse_answer(fd, (const void *)request);
	_exit(0);
}

/* Maps a file of a file system of its own, which nobody else can reach; then that is silent. */
static inline void silent_run(const struct silent_file *file, int ready)
{
	char folder[] = "/tmp/fathom_silent_XXXXXX", path[128], options[128];
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
	snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || mmap(NULL, SILENT_BYTES, file->protection, file->flags, fd, 0) == MAP_FAILED)
		_exit(78);
	close(fd); /* or the end of this process would wait for the server, which ends with it */
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	kill(server, SIGSTOP);
	if (write(ready, &server, sizeof(server)) == sizeof(server))
		pause();
	_exit(0);
}

/* Skips the test where there is none to be had. */
static inline struct silent silent_start(const struct silent_file *file)
{
	struct silent silent;
	int ready[2], status;
	bool started;

	if (geteuid() != 0)
		SKIP("mounting needs root");
	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	silent.mapper = fork();
	CHECK(silent.mapper >= 0);
	if (!silent.mapper)
		silent_run(file, ready[1]);
	close(ready[1]);
	started = read(ready[0], &silent.server, sizeof(silent.server)) == sizeof(silent.server);
	close(ready[0]);
	if (started)
		return silent;
	CHECK_EQ(waitpid(silent.mapper, &status, 0), silent.mapper);
	if (WEXITSTATUS(status) == 77)
		SKIP("no file system can be made here");
	CHECK_FAIL("no file system was made: %d", status);
	return silent;
}

static inline void silent_end(struct silent *silent)
{
	kill(silent->server, SIGKILL);
	kill(silent->mapper, SIGKILL);
	waitpid(silent->mapper, NULL, 0);
}

#endif
