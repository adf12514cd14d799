/* SPDX-License-Identifier: Apache-2.0 */
#include "own_ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "proc/memfd.h"

/* Finds the ring by our own open file. Waits 3 s if a recorder of the host has taken it. */
static bool ring_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; own >= 0 && i < 30; i++) {
		if (fcntl(own, F_OFD_SETLK, &lock) == 0)
			return true;
		usleep(100000);
	}
	return false;
}

struct app_ring *own_ring_find(void)
{
	static const struct memfd_wanted wanted = {
		.name = APP_RING_NAME, .seals = APP_RING_SEALS, .size_bytes = APP_RING_BYTES};
	struct app_ring *ring = NULL;
	struct memfd_found found;

	if (memfd_find(getpid(), &wanted, &found, 1, NULL) != 1)
		return NULL;
	if (ring_lock(found.fd))
		app_ring_open(found.fd, &ring);
	close(found.fd);
	return ring;
}
