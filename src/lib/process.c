/* SPDX-License-Identifier: Apache-2.0 */
/* The process: its ring, its level and sampling at start, and what a fork does to them. */
#include "lib/process.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/record_write.h"

#define TRIES 1000 /* to see the process started; it takes a few syscalls */

struct process fathom_process = {.level = FATHOM_INFO};

/*
 * Our memfd, known by its inode: after a fork, or when a program closed all its
 * fds, the number may stand for another file.
 */
static struct {
	int fd;
	dev_t dev;
	ino_t ino;
} ring_file = {.fd = -1};

static void ring_file_close(void)
{
	struct stat st;

	if (ring_file.fd >= 0 && fstat(ring_file.fd, &st) == 0 && st.st_dev == ring_file.dev &&
	    st.st_ino == ring_file.ino)
		close(ring_file.fd);
	ring_file.fd = -1;
}

static struct app_ring *ring_map(int fd)
{
	struct app_ring *ring;

	if (ftruncate(fd, APP_RING_BYTES) < 0 || fcntl(fd, F_ADD_SEALS, APP_RING_SEALS) < 0)
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

static struct app_ring *ring_create(void)
{
	struct app_ring *ring;
	struct stat st;
	int fd = memfd_create(APP_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

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

/* The state, once no thread of the process is starting it, or after a while. */
static u64 process_state(u64 pid)
{
	u64 state = __atomic_load_n(&fathom_process.state, __ATOMIC_ACQUIRE);

	/* Not for ever: the thread that starts it may be ours, below this handler. */
	for (int i = 0; i < TRIES && state == (pid << 2 | PROCESS_STARTING); i++) {
		sched_yield();
		state = __atomic_load_n(&fathom_process.state, __ATOMIC_ACQUIRE);
	}
	return state;
}

bool fathom_process_enter(void)
{
	u64 pid = (u64)getpid(), state;
	struct app_ring *ring;

	if (fathom_process.disabled)
		return false;
	state = process_state(pid);
	if (state == (pid << 2 | PROCESS_READY))
		return true;
	if (state == (pid << 2 | PROCESS_STARTING))
		return false;
	if (!__atomic_compare_exchange_n(&fathom_process.state, &state, pid << 2 | PROCESS_STARTING,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	ring_file_close(); /* the parent's, if this is a child without fork handlers */
	ring = ring_create();
	fathom_process.ring = ring;
	fathom_process.told = 0;
	__atomic_store_n(&fathom_process.state, pid << 2 | (ring ? PROCESS_READY : PROCESS_NONE),
			 __ATOMIC_RELEASE);
	return ring != NULL;
}

/* In the child: nothing is active, the parent's ring is not ours. */
static void process_forked(void)
{
	fathom_thread_forked();
	fathom_identity_forked();
	ring_file_close();
}

static void process_environment(void)
{
	const char *text = secure_getenv("FATHOM_LEVEL");
	int level = text ? fathom_level_parse(text) : -EINVAL;

	if (level >= 0)
		fathom_process.level = (u32)level;
	text = secure_getenv("FATHOM_SAMPLING");
	if (text)
		fathom_sampling_set(text);
	text = secure_getenv("FATHOM_DISABLE");
	fathom_process.disabled = text && strcmp(text, "1") == 0;
}

__attribute__((constructor)) static void process_start(void)
{
	int err = errno;

	process_environment();
	if (!fathom_process.disabled) {
		fathom_identity_start();
		fathom_thread_key_create();
		pthread_atfork(NULL, NULL, process_forked);
		fathom_process_enter();
	}
	errno = err;
}

/* At exit, or when a program unloads an object that we are linked into statically. */
__attribute__((destructor)) static void process_stop(void)
{
	fathom_thread_key_delete();
}

void fathom_level_set(int level)
{
	u64 state = __atomic_load_n(&fathom_process.state, __ATOMIC_ACQUIRE);

	if (level < FATHOM_EMERGENCY || level > FATHOM_DEBUG)
		return;
	__atomic_store_n(&fathom_process.level, (u32)level, __ATOMIC_RELAXED);
	if (state == ((u64)getpid() << 2 | PROCESS_READY) && ring_file.fd >= 0)
		__atomic_store_n(&fathom_process.ring->level, (u32)level, __ATOMIC_RELAXED);
}

int fathom_level_get(void)
{
	return (int)__atomic_load_n(&fathom_process.level, __ATOMIC_RELAXED);
}

int fathom_level_parse(const char *name)
{
	static const char *const names[8][3] = {
		{"emergency", "emerg", "0"}, {"alert", "alert", "1"},  {"critical", "crit", "2"},
		{"error", "err", "3"},	     {"warning", "warn", "4"}, {"notice", "notice", "5"},
		{"info", "info", "6"},	     {"debug", "debug", "7"},
	};

	for (int level = 0; name && level < 8; level++) {
		for (int i = 0; i < 3; i++) {
			if (strcmp(name, names[level][i]) == 0)
				return level;
		}
	}
	return -EINVAL;
}
