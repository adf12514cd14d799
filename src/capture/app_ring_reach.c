// SPDX-License-Identifier: Apache-2.0
/* From a process to its ring, mapped and ours. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "capture/app_rings.h"
#include "capture/app_rings_internal.h"
#include "capture/memfd_find.h"

bool app_ring_is_ended(const struct app_ring_reached *reached)
{
	struct pollfd ended = {.fd = reached->pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 1;
}

/*
 * An open file of our own: a lock on one that is shared with the process would be
 * the process's too. Returns the fd, or a negative errno.
 */
static int file_take(int found)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		int err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* The pid was read by its number: what was read is its own if it still lives. */
static int reached_check(struct app_ring_reached *r)
{
	if (app_ring_is_ended(r))
		return -ESRCH;
	return r->ring->pid == r->process.inner_pid ? 1 : 0;
}

static int reached_open(pid_t pid, struct app_ring_reached *r, struct error *e)
{
	static const struct memfd_wanted wanted = {APP_RING_NAME, APP_RING_SEALS, APP_RING_BYTES};
	struct memfd_found found;
	int err;

	r->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (r->pidfd < 0)
		return error_set(e, errno, "cannot watch process %d", pid);
	err = memfd_find(pid, &wanted, &found, e);
	if (err != 1) /* what has ended shows no mappings */
		return err == 0 && app_ring_is_ended(r) ? -ESRCH : err;
	r->inode = found.inode;
	r->device = found.device;
	r->fd = file_take(found.fd);
	close(found.fd);
	if (r->fd < 0)
		return error_set(e, r->fd, "cannot lock the ring of process %d", pid);
	err = app_ring_open(r->fd, &r->ring);
	if (err == -EINVAL)
		return 0;
	if (err)
		return error_set(e, err, "cannot map the ring of process %d", pid);
	err = app_process_open(pid, &r->process, e);
	r->process.pidfd = r->pidfd;
	return err ? err : reached_check(r);
}

int app_ring_reach(pid_t pid, u64 made_ns, struct app_ring_reached **out, struct error *e)
{
	struct app_ring_reached *reached = calloc(1, sizeof(*reached));
	int result;

	if (!reached)
		return error_set(e, ENOMEM, "cannot reach the ring of process %d", pid);
	reached->fd = reached->pidfd = -1;
	reached->made_ns = made_ns;
	reached->reached_ns = host_clock_now_ns();
	result = reached_open(pid, reached, e);
	if (result == 1)
		*out = reached;
	else
		app_ring_drop(reached);
	return result;
}

void app_ring_drop(struct app_ring_reached *reached)
{
	if (!reached)
		return;
	app_ring_close(reached->ring);
	if (reached->fd >= 0)
		close(reached->fd);
	if (reached->pidfd >= 0)
		close(reached->pidfd);
	app_process_close(&reached->process);
	free(reached);
}
