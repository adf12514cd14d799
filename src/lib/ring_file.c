/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring_file.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/memory_file.h"
#include "lib/thread.h"

/*
 * Our memfd, identified by its inode. After a fork, or after the program closed all its
 * descriptors, the descriptor may be another file.
 */
static struct {
	int fd;
	dev_t dev;
	ino_t ino;
} ring_file = {.fd = -1};

static struct app_lane *ring_lanes[APP_RING_LANES]; /* lanes of this process; NULL: not mapped */

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

bool fathom_ring_is(u64 inode)
{
	return ring_file.fd >= 0 && ring_file.ino == inode;
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t lane_offset(u32 i)
{
	return offsetof(struct app_ring, lane) + i * sizeof(struct app_lane);
}

/*
 * The parts that are mapped: the header with the first page of lane 0, and for each lane all from
 * its first page to the first page of the next lane. So each part ends with the page with which the
 * next part begins, and from which that can be mapped.
 */
static size_t extent_begin(u32 lane)
{
	return lane_offset(lane) & ~(page_bytes() - 1);
}

static size_t extent_end(u32 lane)
{
	size_t all = (APP_RING_BYTES + page_bytes() - 1) & ~(page_bytes() - 1);

	return lane + 1 < APP_RING_LANES ? extent_begin(lane + 1) + page_bytes() : all;
}

static size_t header_bytes(void)
{
	return extent_begin(0) + page_bytes();
}

static u8 *lane_extent(const struct app_lane *lane, u32 i)
{
	return (u8 *)(uintptr_t)lane - (lane_offset(i) - extent_begin(i));
}

static void *part_map(int fd, size_t begin, size_t bytes)
{
	void *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);

	if (part == MAP_FAILED)
		return NULL;
	/* in a child it would have a second producer */
	if (madvise(part, bytes, MADV_DONTFORK) < 0) {
		munmap(part, bytes);
		return NULL;
	}
	madvise(part, bytes, MADV_DONTDUMP);
	return part;
}

static struct app_ring *ring_map(int fd)
{
	return fcntl(fd, F_ADD_SEALS, APP_RING_SEALS) < 0 ? NULL : part_map(fd, 0, header_bytes());
}

/*
 * Maps a lane without the descriptor, which the program may have closed or used for another file:
 * mremap() duplicates the nearest mapped page below, with the pages of the file that follow it.
 */
static u8 *extent_follow(struct app_ring *ring, u32 lane)
{
	size_t page = page_bytes(), from = header_bytes() - page, skipped;
	u8 *below = (u8 *)ring + from, *part;

	for (u32 i = lane; i-- > 0;) {
		const struct app_lane *mapped = fathom_ring_lane(i);

		if (!mapped)
			continue;
		from = extent_end(i) - page;
		below = lane_extent(mapped, i) + (from - extent_begin(i));
		break;
	}
	part = mremap(below, 0, extent_end(lane) - from, MREMAP_MAYMOVE);
	if (part == MAP_FAILED)
		return NULL;
	skipped = extent_begin(lane) - from;
	if (skipped)
		munmap(part, skipped);
	return part + skipped;
}

/* Maps a lane by the descriptor, if mremap() cannot do so, for example under valgrind. */
static u8 *extent_map(u32 lane)
{
	size_t begin = extent_begin(lane), bytes = extent_end(lane) - begin;
	u8 *part = ring_file_is_ours() ? part_map(ring_file.fd, begin, bytes) : NULL;

	if (!part || ring_file_is_ours())
		return part;
	munmap(part, bytes); /* the program may have replaced the descriptor meanwhile */
	return NULL;
}

struct app_lane *fathom_ring_lane(u32 i)
{
	return __atomic_load_n(&ring_lanes[i], __ATOMIC_SEQ_CST);
}

struct app_lane *fathom_ring_lane_map(struct app_ring *ring, u32 i)
{
	struct app_lane *lane = fathom_ring_lane(i);
	u8 *part;

	if (lane)
		return lane;
	part = extent_follow(ring, i);
	if (!part)
		part = extent_map(i);
	if (!part)
		return NULL;
	lane = (void *)(part + (lane_offset(i) - extent_begin(i)));
	__atomic_store_n(&ring_lanes[i], lane, __ATOMIC_SEQ_CST);
	return lane;
}

/* Makes memory that stands for a ring to which nobody listens, so nobody writes to it. */
static struct app_ring *ring_silent(void)
{
	void *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

struct app_ring *fathom_ring_create(void)
{
	struct app_ring *ring;
	struct stat st;
	int fd = fathom_memory_file_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING,
					   APP_RING_BYTES);

	memset(ring_lanes, 0, sizeof(ring_lanes)); /* in a child they are the parent's */
	if (fd < 0)
		return ring_silent();
	ring = ring_map(fd);
	if (!ring || fstat(fd, &st) < 0) {
		if (ring)
			munmap(ring, header_bytes());
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
	/* a listener needs some milliseconds to find the ring */
	ring->lease_ns = ring->start_ns + APP_RING_GRACE_NS;
	ring->listening = APP_RING_GRACE;
	__atomic_store_n(&ring->magic, APP_RING_MAGIC, __ATOMIC_RELEASE);
	return ring;
}

static bool memory_replace(void *part, size_t bytes)
{
	return mmap(part, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/*
 * Replaces the parts in use by private memory, the header first. A thread in the middle of a record
 * goes on there unseen, and begins no other record, since nobody listens there. Records that were
 * published are in the file.
 */
static bool ring_leave(struct app_ring *ring)
{
	u32 used = __atomic_load_n(&ring->lanes_used, __ATOMIC_SEQ_CST);
	bool left = memory_replace(ring, header_bytes());

	for (u32 i = 0; i < used && i < APP_RING_LANES; i++) {
		struct app_lane *lane = fathom_ring_lane(i);

		if (lane)
			left &= memory_replace(lane_extent(lane, i),
					       extent_end(i) - extent_begin(i));
	}
	return left;
}

static bool ring_unmap(struct app_ring *ring)
{
	for (u32 i = 0; i < APP_RING_LANES; i++) {
		struct app_lane *lane = fathom_ring_lane(i);

		if (lane)
			munmap(lane_extent(lane, i), extent_end(i) - extent_begin(i));
		ring_lanes[i] = NULL;
	}
	return munmap(ring, header_bytes()) == 0;
}

void fathom_ring_stop(struct app_ring *ring, bool others)
{
	size_t page = page_bytes();
	struct app_ring *head;
	bool left = false;

	if (!ring_file_is_ours())
		return;
	head = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring_file.fd, 0);
	if (head == MAP_FAILED)
		return;
	if (ring->magic == APP_RING_MAGIC)
		left = others ? ring_leave(ring) : ring_unmap(ring);
	if (left)
		__atomic_store_n(&head->stopped, 1, __ATOMIC_RELEASE);
	munmap(head, page);
	fathom_ring_close();
}
