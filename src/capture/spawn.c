// SPDX-License-Identifier: Apache-2.0
/*
 * Starts the command: forks a child that waits, puts it into scope from its exec on, and lets it go
 * when everything is attached.
 *
 * Over the socket `go` the child says that it has closed fathom's descriptors, and is told to exec.
 * The pipe `exec` is closed by a successful exec, or carries the errno of a failed one. An exec can
 * take as long as a file system wants, so nobody waits for it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "capture/internal.h"
#include "capture/scope/scope.h"
#include "capture/watch.h"

struct descriptors {
	VEC(int) list;
};

/* If fathom is set-uid, the command must not run as fathom's user. */
static void user_restore(void)
{
	if ((getegid() != getgid() && setresgid(getgid(), getgid(), getgid())) ||
	    (geteuid() != getuid() && setresuid(getuid(), getuid(), getuid())))
		_exit(126);
}

static int fd_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Lists the descriptors that stay open at an exec: our caller opened them. Ours all close then. */
static int descriptors_inherited(struct descriptors *kept)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	while (dir && !err && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name), flags = fd > 2 ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			err = vec_push(&kept->list, fd);
	}
	if (dir)
		closedir(dir);
	return err;
}

/*
 * Closes all descriptors but those of the sorted list. The exec would close them, too. But until
 * then, which may be longer than the recording, the child would hold the lock of the recording's
 * directory.
 */
static void descriptors_close_but(const struct descriptors *kept)
{
	int next = 3;

	for (size_t i = 0; i < kept->list.count; i++) {
		if (next < kept->list.data[i])
			syscall(SYS_close_range, next, kept->list.data[i] - 1, 0);
		next = kept->list.data[i] + 1;
	}
	syscall(SYS_close_range, next, INT_MAX, 0);
}

/* Runs in the child, and must not touch the parent's state. */
static void spawn_child(char *const argv[], const struct descriptors *kept, int go, int exec)
{
	char byte = 0;
	ssize_t got;
	int err;

	descriptors_close_but(kept); /* go and exec are in the list, and close at the exec */
	if (write(go, &byte, 1) != 1)
		_exit(127);
	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127); /* the parent has given up */
	user_restore();
	execvp(argv[0], argv);
	err = errno;
	while (write(exec, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(err == ENOENT ? 127 : 126);
}

/* Makes capture_wait() end with the child. Without a pidfd its end is noticed a little later. */
static void child_await(struct capture *c)
{
	c->child_fd = (int)syscall(SYS_pidfd_open, c->child, 0);
	if (c->child_fd >= 0)
		(void)capture_wait_for(c, c->child_fd);
}

/*
 * Waits until the child has closed our descriptors: what is open now is what the command begins
 * with. If the child was killed, this returns, too.
 */
static void closed_wait(int go)
{
	ssize_t n;
	char byte;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
}

int capture_spawn(struct capture *c, char *const argv[], struct error *e)
{
	struct descriptors kept = {0};
	int go[2], exec[2], err;
	pid_t pid;

	if (c->child)
		return error_say(e, EBUSY, "a command has already been started");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go))
		return error_set(e, errno, "cannot start %s", argv[0]);
	if (pipe2(exec, O_CLOEXEC | O_NONBLOCK)) {
		err = errno;
		close(go[0]);
		close(go[1]);
		return error_set(e, err, "cannot start %s", argv[0]);
	}
	err = descriptors_inherited(&kept);
	err = err ? err : vec_push(&kept.list, go[0]);
	err = err ? err : vec_push(&kept.list, exec[1]);
	if (!err)
		qsort(kept.list.data, kept.list.count, sizeof(int), fd_compare);
	pid = err ? -1 : fork();
	if (pid == 0)
		spawn_child(argv, &kept, go[0], exec[1]);
	err = err ? -err : errno;
	vec_free(&kept.list);
	close(go[0]);
	close(exec[1]);
	c->go_fd = go[1];
	c->exec_fd = exec[0];
	if (pid < 0) {
		capture_spawn_abandon(c);
		return error_set(e, err, "cannot start %s", argv[0]);
	}
	c->child = pid;
	child_await(c);
	closed_wait(c->go_fd);
	err = capture_scope_seed(c, pid, e);
	if (err)
		capture_spawn_abandon(c);
	return err;
}

int capture_release(struct capture *c, struct error *e)
{
	ssize_t n;

	if (c->go_fd < 0)
		return error_say(e, EINVAL, "no command is waiting to start");
	capture_watch_settle(c->watch);
	capture_watch_collect(c->watch, c->apps);
	do
		n = send(c->go_fd, "", 1, MSG_NOSIGNAL); /* the child may have been killed */
	while (n < 0 && errno == EINTR);
	close(c->go_fd);
	c->go_fd = -1;
	return 0;
}

int capture_command_begun(struct capture *c, struct error *e)
{
	int err = 0;
	ssize_t n;

	if (c->exec_fd < 0)
		return c->child > 0;
	do
		n = read(c->exec_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	close(c->exec_fd);
	c->exec_fd = -1;
	if (n != sizeof(err))
		return 1;
	waitpid(c->child, NULL, 0); /* it ends right after it has written its errno */
	c->child = 0;
	return error_set(e, err, "cannot run the command");
}

void capture_spawn_abandon(struct capture *c)
{
	bool waits = c->go_fd >= 0;

	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->exec_fd >= 0)
		close(c->exec_fd);
	if (c->child_fd >= 0)
		close(c->child_fd);
	c->go_fd = c->exec_fd = c->child_fd = -1;
	if (!waits || c->child <= 0)
		return;
	kill(c->child, SIGKILL);
	waitpid(c->child, NULL, 0);
	c->child = 0;
}
