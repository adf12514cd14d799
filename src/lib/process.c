/* SPDX-License-Identifier: Apache-2.0 */
/* The process: its ring, its level and sampling at start, and what a fork does to them. */
#include "lib/process.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/record_write.h"
#include "lib/ring_file.h"

#define TRIES 1000 /* to see the process started; it takes a few syscalls */

struct process fathom_process = {.level = FATHOM_INFO};

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

	if (__atomic_load_n(&fathom_process.disabled, __ATOMIC_SEQ_CST))
		return false;
	state = process_state(pid);
	if (state == (pid << 2 | PROCESS_READY))
		return true;
	if (state == (pid << 2 | PROCESS_STARTING))
		return false;
	if (!__atomic_compare_exchange_n(&fathom_process.state, &state, pid << 2 | PROCESS_STARTING,
					 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	fathom_ring_close(); /* the parent's, if this is a child without fork handlers */
	ring = fathom_ring_create();
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
	fathom_ring_close();
}

/* We never print: of a word that is none nobody hears, and the default holds. */
static void process_environment(void)
{
	const char *level = secure_getenv("FATHOM_LEVEL");
	const char *sampling = secure_getenv("FATHOM_SAMPLING");
	const char *disable = secure_getenv("FATHOM_DISABLE");

	fathom_process.disabled = disable && strcmp(disable, "1") == 0;
	if (level && fathom_level_parse(level) >= 0)
		fathom_process.level = (u32)fathom_level_parse(level);
	if (sampling)
		(void)fathom_sampling_set(sampling);
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

#ifdef FATHOM_STAYS
static bool can_be_unloaded(void)
{
	return false;
}
#else
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

/* Are we in a plugin with the archive inside, and not in the program? */
static bool can_be_unloaded(void)
{
	return &__ehdr_start &&
	       getauxval(AT_PHDR) != (unsigned long)&__ehdr_start + __ehdr_start.e_phoff;
}
#endif

/*
 * Nothing of us is left behind but the memory of other threads: whoever is not counted when we look
 * sees that it is disabled. In an exit these may be at work
 * still, unheard from now on.
 */
static void process_unload(void)
{
	u64 ready = (u64)getpid() << 2 | PROCESS_READY;

	if (__atomic_load_n(&fathom_process.state, __ATOMIC_ACQUIRE) != ready)
		return; /* a child that has begun nothing */
	__atomic_store_n(&fathom_process.disabled, 1, __ATOMIC_SEQ_CST);
	fathom_thread_leave();
	fathom_identity_withdraw();
	fathom_ring_stop(fathom_process.ring,
			 __atomic_load_n(&fathom_process.threads, __ATOMIC_SEQ_CST) != 0);
}

/* At exit, or when a program unloads an object that we are linked into statically. */
__attribute__((destructor)) static void process_stop(void)
{
	int err = errno;

	fathom_thread_key_delete();
	if (!fathom_process.disabled && can_be_unloaded())
		process_unload();
	errno = err;
}

void fathom_level_set(int level)
{
	u64 ready = (u64)getpid() << 2 | PROCESS_READY;

	if (level < FATHOM_EMERGENCY || level > FATHOM_DEBUG)
		return;
	__atomic_store_n(&fathom_process.level, (u32)level, __ATOMIC_RELAXED);
	__atomic_fetch_add(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&fathom_process.disabled, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&fathom_process.state, __ATOMIC_ACQUIRE) == ready &&
	    fathom_ring_is_shared())
		__atomic_store_n(&fathom_process.ring->level, (u32)level, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
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
