// SPDX-License-Identifier: Apache-2.0
/* Finds the rings of a process, locks and maps them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "capture/app/internal.h"
#include "capture/app/rings.h"
#include "proc/memfd.h"

bool app_ring_is_ended(const struct app_ring_reached *reached)
{
	struct pollfd ended = {.fd = reached->pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) == 1;
}

/*
 * Opens the file anew and locks it. A lock on an open file description that is shared with the
 * process would be the process's lock, too. Returns the descriptor or a negative errno.
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

/* Files were found by pid: they belong to the process if it has not ended meanwhile. */
static int reached_check(struct app_ring_reached *r)
{
	if (app_ring_is_ended(r))
		return -ESRCH;
	return r->ring->pid == r->process.inner_pid ? 1 : 0;
}

/* Opens a ring, and closes `found`. 1; 0 if the file is no ring; or a negative errno. */
static int reached_open(struct app_ring_reached *r, const struct memfd_found *found,
			struct error *e)
{
	pid_t pid = r->process.pid;
	int err;

	r->inode = found->inode;
	r->device = found->device;
	r->fd = file_take(found->fd);
	close(found->fd);
	if (r->fd < 0)
		return error_set(e, r->fd, "cannot lock a ring of process %d", pid);
	err = app_ring_open(r->fd, &r->ring);
	if (err == -EINVAL)
		return 0;
	if (err)
		return error_set(e, err, "cannot map a ring of process %d", pid);
	err = app_process_open(pid, &r->process, e);
	r->process.pidfd = r->pidfd;
	return err ? err : reached_check(r);
}

/* Makes a ring of a file that was found, and closes `found`. Returns like reached_open(). */
static int ring_reach(const struct app_ring_reached *origin, const struct memfd_found *found,
		      struct app_ring_reached **out, struct error *e)
{
	struct app_ring_reached *reached = malloc(sizeof(*reached));
	int result;

	if (!reached) {
		close(found->fd);
		return error_set(e, ENOMEM, "cannot reach a ring");
	}
	*reached = *origin;
	reached->pidfd = fcntl(origin->pidfd, F_DUPFD_CLOEXEC, 0);
	if (reached->pidfd < 0) {
		result = error_set(e, errno, "cannot watch process %d", origin->process.pid);
		close(found->fd);
	} else {
		result = reached_open(reached, found, e);
	}
	if (result == 1)
		*out = reached;
	else
		app_ring_drop(reached);
	return result;
}

/* Forgets rings that are not mapped any more. Their files are gone, and inodes are used again. */
static void known_prune(struct app_rings_known *known)
{
	u32 kept = 0;

	for (u32 i = 0; i < known->count; i++) {
		if (known->ring[i].mapped)
			known->ring[kept++] = known->ring[i];
	}
	known->count = kept;
}

struct look {
	struct app_ring_reached origin; /* what they have in common */
	struct memfd_found found[APP_RINGS_OF_PROCESS];
	size_t count;
};

/* Opens as many as there is room for. If no ring was opened, the first error is returned. */
static int found_reach(const struct look *look, struct app_rings_known *known,
		       struct app_ring_reached **out, struct error *e)
{
	int reached = 0, err = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct memfd_found *found = &look->found[i];
		struct app_ring_reached *one = NULL;
		int result;

		if (known->count == APP_RINGS_OF_PROCESS) {
			close(found->fd);
			continue;
		}
		result = ring_reach(&look->origin, found, &one, e);
		if (result < 0 && !err)
			err = result;
		if (!one) /* `one` is set if and only if the result is 1 */
			continue;
		known->ring[known->count++] = (struct memfd_known){one->inode, one->device, true};
		one->next = *out;
		*out = one;
		reached++;
	}
	return reached ? reached : err;
}

static int rings_look(struct look *look, struct app_rings_known *known,
		      struct app_ring_reached **out, struct error *e)
{
	const struct memfd_wanted wanted = {APP_RING_NAME, APP_RING_SEALS, APP_RING_BYTES,
					    known->ring, known->count};
	int count;

	for (u32 i = 0; i < known->count; i++)
		known->ring[i].mapped = false;
	count = memfd_find(look->origin.process.pid, &wanted, look->found, APP_RINGS_OF_PROCESS, e);
	if (count < 0 && count != -ENXIO)
		return count;
	look->count = count < 0 ? 0 : (size_t)count;
	look->origin.reached_ns = host_clock_now_ns();
	if (app_ring_is_ended(&look->origin)) { /* an ended process shows no mappings */
		while (look->count)
			close(look->found[--look->count].fd);
		return -ESRCH;
	}
	if (count < 0)
		return count;
	known_prune(known);
	return found_reach(look, known, out, e);
}

int app_ring_reach(pid_t pid, u64 made_ns, struct app_rings_known *known,
		   struct app_ring_reached **out, struct error *e)
{
	struct look look = {.origin = {.fd = -1, .made_ns = made_ns, .process = {.pid = pid}}};
	struct app_rings_known nothing = {0};
	struct app_ring_reached *reached = NULL;
	int result;

	look.origin.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (look.origin.pidfd < 0)
		return error_set(e, errno, "cannot watch process %d", pid);
	result = rings_look(&look, known ? known : &nothing, &reached, e);
	close(look.origin.pidfd);
	if (reached)
		*out = reached;
	return result;
}

static void reached_free(struct app_ring_reached *reached)
{
	app_ring_close(reached->ring);
	if (reached->fd >= 0)
		close(reached->fd);
	if (reached->pidfd >= 0)
		close(reached->pidfd);
	app_process_close(&reached->process);
	free(reached);
}

void app_ring_drop(struct app_ring_reached *reached)
{
	while (reached) {
		struct app_ring_reached *next = reached->next;

		reached_free(reached);
		reached = next;
	}
}
