/* SPDX-License-Identifier: Apache-2.0 */
/* The memfd of the ring: how it comes and goes. */
#include "lib/ring_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/memory_file.h"
#include "lib/record_write.h"

/*
 * Our memfd, known by its inode: after a fork, or when a program closed all its
 * fds, the number may stand for another file.
 */
static struct {
	int fd;
	dev_t dev;
	ino_t ino;
} ring_file = {.fd = -1};

static bool ring_file_is_ours(void)
{
	struct stat st;

	return ring_file.fd >= 0 && fstat(ring_file.fd, &st) == 0 && st.st_dev == ring_file.dev &&
	       st.st_ino == ring_file.ino;
}

bool fathom_ring_is_shared(void)
{
	return ring_file.fd >= 0;
}

void fathom_ring_close(void)
{
	if (ring_file_is_ours())
		close(ring_file.fd);
	ring_file.fd = -1;
}

static struct app_ring *ring_map(int fd)
{
	struct app_ring *ring;

	if (fcntl(fd, F_ADD_SEALS, APP_RING_SEALS) < 0)
		return NULL;
	ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return NULL;
	/* A child that wrote here would be a second producer. */
	if (madvise(ring, APP_RING_BYTES, MADV_DONTFORK) < 0) {
		munmap(ring, APP_RING_BYTES);
		return NULL;
	}
	madvise(ring, APP_RING_BYTES, MADV_DONTDUMP);
	return ring;
}

/* Stands for a ring where there is none: nobody listens to it, nobody writes to it. */
static struct app_ring *ring_silent(void)
{
	void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

struct app_ring *fathom_ring_create(void)
{
	struct app_ring *ring;
	struct stat st;
	int fd = fathom_memory_file_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING,
					   APP_RING_BYTES);

	if (fd < 0)
		return ring_silent();
	ring = ring_map(fd);
	if (!ring || fstat(fd, &st) < 0) {
		if (ring)
			munmap(ring, APP_RING_BYTES);
		close(fd);
		return ring_silent();
	}
	ring_file.fd = fd;
	ring_file.dev = st.st_dev;
	ring_file.ino = st.st_ino;
	ring->version = APP_RING_VERSION;
	ring->header_bytes = offsetof(struct app_ring, lane);
	ring->lanes = APP_RING_LANES;
	ring->lane_bytes = sizeof(struct app_lane);
	ring->slots = APP_RING_SLOTS;
	ring->pid = (u32)getpid();
	ring->start_ns = clock_now_ns();
	ring->level = fathom_process.level;
	/* Whoever looks for rings needs some milliseconds to find this one. */
	ring->lease_ns = ring->start_ns + APP_RING_GRACE_NS;
	ring->listening = APP_RING_GRACE;
	__atomic_store_n(&ring->magic, APP_RING_MAGIC, __ATOMIC_RELEASE);
	return ring;
}

/*
 * Memory of our own takes the place of what is in use, in one step: a thread in the middle of a
 * record goes on there, and nobody sees it. What it had published is in the file.
 */
static bool ring_leave(struct app_ring *ring, size_t page)
{
	u32 lanes = __atomic_load_n(&ring->lanes_used, __ATOMIC_SEQ_CST);
	size_t used = offsetof(struct app_ring, lane) + lanes * sizeof(struct app_lane);
	size_t kept = (used + page - 1) / page * page;

	if (mmap(ring, kept, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	if (kept < APP_RING_BYTES)
		munmap((u8 *)ring + kept, APP_RING_BYTES - kept);
	return true;
}

void fathom_ring_stop(struct app_ring *ring, bool others)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct app_ring *head;
	bool left = false;

	if (!ring_file_is_ours())
		return;
	head = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_file.fd, 0);
	if (head == MAP_FAILED)
		return;
	if (ring->magic == APP_RING_MAGIC)
		left = others ? ring_leave(ring, page) : munmap(ring, APP_RING_BYTES) == 0;
	if (left)
		__atomic_store_n(&head->stopped, 1, __ATOMIC_RELEASE);
	munmap(head, page);
	fathom_ring_close();
}
