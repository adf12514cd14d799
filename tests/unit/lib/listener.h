/* SPDX-License-Identifier: Apache-2.0 */
/* A test that acts as capture: finds the ring of this process, listens, keeps what comes. */
#ifndef TESTS_UNIT_LIB_LISTENER_H
#define TESTS_UNIT_LIB_LISTENER_H

#include <dirent.h>
#include <fathom/fathom.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/app_ring.h"
#include "unit/check.h"

#define LISTENER_KEEPS 8192

struct listener {
	struct app_ring *ring;
	u32 session;
	u64 damaged;
	u32 count; /* records kept */
	struct record_kept {
		struct record_head head;
		union {
			u8 bytes[18 * RECORD_SLOT_BYTES];
			struct record_service service;
			struct record_span_begin begin;
			struct record_span_end end;
			struct record_span_attach attach;
			struct record_span_event event;
			struct record_span_attribute attribute;
		};
	} * kept;
};

static inline u64 listener_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

/* Descriptors of our own that lock rings: each is an open file of its own. */
static int listener_locks[8], listener_locks_count;

/*
 * A recorder of the whole host on this machine would take what is written: like
 * any listener, the test locks the ring, and waits until another is done with it.
 */
static inline bool listener_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0 || listener_locks_count == 8)
		return false;
	listener_locks[listener_locks_count++] = own;
	for (int tenths = 0; tenths < 300; tenths++) {
		if (fcntl(own, F_OFD_SETLK, &lock) == 0)
			return true;
		usleep(100000);
	}
	return false;
}

static inline bool listener_is_lock(int fd)
{
	for (int i = 0; i < listener_locks_count; i++) {
		if (listener_locks[i] == fd)
			return true;
	}
	return false;
}

/* The number of rings among our fds; the last, locked, in *ring if that is not NULL. */
static inline int listener_find(struct app_ring **ring)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int found = 0;

	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0 || strncmp(target, "/memfd:" APP_RING_NAME, 18) != 0)
			continue;
		if (listener_is_lock(atoi(entry->d_name)))
			continue;
		found++;
		if (ring && (!listener_lock(atoi(entry->d_name)) ||
			     app_ring_open(atoi(entry->d_name), ring) < 0))
			found = -1000;
	}
	if (dir)
		closedir(dir);
	return found;
}

static inline void listener_keep(void *owner, const struct record_head *head)
{
	struct listener *l = owner;

	if (l->count >= LISTENER_KEEPS)
		return;
	l->kept[l->count].head = *head;
	memcpy(l->kept[l->count].bytes, head, (size_t)head->slots * RECORD_SLOT_BYTES);
	memset(l->kept[l->count].bytes + (size_t)head->slots * RECORD_SLOT_BYTES, 0,
	       sizeof(l->kept[0].bytes) - (size_t)head->slots * RECORD_SLOT_BYTES);
	l->count++;
}

static inline void listener_drain(struct listener *l)
{
	struct app_ring_sink sink = {.record = listener_keep, .owner = l};

	app_ring_drain(l->ring, &sink, &l->damaged);
}

/* Everything before is forgotten; what comes is kept from index 0 on. */
static inline void listener_start(struct listener *l)
{
	static u32 session;

	if (!l->ring) {
		int found = listener_find(&l->ring);

		if (found < 0)
			SKIP("another recorder listens to the rings of this host");
		CHECK_EQ(found, 1);
	}
	if (!l->kept)
		l->kept = calloc(LISTENER_KEEPS, sizeof(*l->kept));
	CHECK(l->kept != NULL);
	listener_drain(l);
	l->count = 0;
	l->damaged = 0;
	l->session = ++session;
	app_ring_listen(l->ring, l->session, listener_now() + 60000000000ull);
}

static inline void listener_stop(struct listener *l)
{
	app_ring_listen(l->ring, 0, 0);
	listener_drain(l);
}

/* The i-th record of a kind, NULL if there are not so many. */
static inline struct record_kept *listener_nth(struct listener *l, u8 kind, u32 i)
{
	for (u32 at = 0; at < l->count; at++) {
		if (l->kept[at].head.kind == kind && i-- == 0)
			return &l->kept[at];
	}
	return NULL;
}

static inline u32 listener_count(struct listener *l, u8 kind)
{
	u32 count = 0;

	for (u32 at = 0; at < l->count; at++)
		count += l->kept[at].head.kind == kind;
	return count;
}

#endif
