/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up the process: its ring, and its level and sampling from the environment. Handles forks. */
#include "lib/process.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/identity.h"
#include "lib/quiet.h"
#include "lib/ring_file.h"
#include "lib/thread.h"

static u64 *process_word(void)
{
	return &fathom_process.own->state;
}

/*
 * Waits for the thread that starts the process, but not for ever. False: it takes too long. Once
 * that happened, no thread of the process waits again.
 */
static bool start_wait(int tries, u32 pid)
{
	if (tries == QUIET_TRIES)
		__atomic_store_n(&fathom_process.late, pid, __ATOMIC_RELAXED);
	if (__atomic_load_n(&fathom_process.late, __ATOMIC_RELAXED) == pid)
		return false;
	fathom_quiet_wait(tries);
	return true;
}

/* Returns the state once no thread is starting the process, or after a while. */
static u64 process_state(u64 pid)
{
	u64 state = __atomic_load_n(process_word(), __ATOMIC_ACQUIRE);

	for (int i = 0; state == (pid << 2 | PROCESS_STARTING) && start_wait(i, (u32)pid); i++)
		state = __atomic_load_n(process_word(), __ATOMIC_ACQUIRE);
	return state;
}

bool fathom_process_enter(void)
{
	u64 pid = (u64)getpid(), state;
	struct app_ring *ring;

	if (!fathom_process_begin() || __atomic_load_n(&fathom_process.disabled, __ATOMIC_SEQ_CST))
		return false;
	state = process_state(pid);
	if (state == (pid << 2 | PROCESS_READY))
		return true;
	if (state == (pid << 2 | PROCESS_STARTING))
		return false;
	if (!__atomic_compare_exchange_n(process_word(), &state, pid << 2 | PROCESS_STARTING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	fathom_ring_close(); /* of the parent, if this is a child whose fork handlers did not run */
	ring = fathom_ring_create();
	fathom_process.ring = ring;
	fathom_process.told = 0;
	fathom_process.generation++;
	__atomic_store_n(process_word(), pid << 2 | (ring ? PROCESS_READY : PROCESS_NONE),
			 __ATOMIC_RELEASE);
	return ring != NULL;
}

/* The fork handler in the child: no span is active, and the parent's ring is not ours. */
static void process_forked(void)
{
	struct quiet quiet;

	fathom_quiet_begin(&quiet);
	__atomic_store_n(process_word(), PROCESS_NONE, __ATOMIC_RELEASE);
	fathom_thread_forked();
	fathom_identity_forked();
	fathom_ring_close();
	fathom_quiet_end(&quiet);
}

/* Reads the settings of the environment. The library never prints, so bad values are ignored. */
static void process_environment(void)
{
	const char *level = secure_getenv("FATHOM_LEVEL");
	const char *sampling = secure_getenv("FATHOM_SAMPLING");
	const char *disable = secure_getenv("FATHOM_DISABLE");

	fathom_process.disabled = disable && strcmp(disable, "1") == 0;
	if (level && fathom_level_parse(level) >= 0)
		fathom_process.level = (u32)fathom_level_parse(level);
	if (sampling)
		(void)fathom_sampling_apply(sampling);
}

static struct process_own *own_map(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (own == MAP_FAILED)
		return &fathom_own_kept;
	if (madvise(own, page, MADV_WIPEONFORK) == 0)
		return own;
	munmap(own, page);
	return &fathom_own_kept;
}

/* Frees the page at the end, unless a thread may be using it. */
static void own_unmap(void)
{
	struct process_own *own = fathom_process.own;

	if (own == &fathom_own_kept || __atomic_load_n(&fathom_process.threads, __ATOMIC_SEQ_CST))
		return;
	fathom_process.own = &fathom_own_kept;
	munmap(own, (size_t)sysconf(_SC_PAGESIZE));
}

static void process_prepare(void)
{
	int err = errno;

	process_environment();
	if (!fathom_process.disabled) {
		fathom_process.own = own_map();
		fathom_identity_start();
		fathom_thread_key_create();
		pthread_atfork(NULL, NULL, process_forked);
	}
	errno = err;
}

static bool process_begin(u32 *word)
{
	u32 begun = __atomic_load_n(word, __ATOMIC_ACQUIRE), pid = (u32)getpid();

	for (int i = 0; begun != PROCESS_BEGUN; i++) {
		if (begun == pid) {
			if (!start_wait(i, pid))
				return false;
			begun = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		} else if (__atomic_compare_exchange_n(word, &begun, pid, false, __ATOMIC_ACQ_REL,
						       __ATOMIC_ACQUIRE)) {
			process_prepare();
			__atomic_store_n(word, PROCESS_BEGUN, __ATOMIC_RELEASE);
			return true;
		}
	}
	return true;
}

bool fathom_process_begin(void)
{
	u32 *word = &fathom_process.begun;
	struct quiet quiet;
	bool begun;

	if (likely(__atomic_load_n(word, __ATOMIC_ACQUIRE) == PROCESS_BEGUN))
		return true;
	fathom_quiet_begin(&quiet);
	begun = process_begin(word);
	fathom_quiet_end(&quiet);
	return begun;
}

/*
 * Our constructor runs before those of the program, and our destructor after its destructors, since
 * they may have spans. A constructor that runs even earlier calls fathom_process_begin().
 */
__attribute__((constructor(101))) static void process_start(void)
{
	int err = errno;
	struct quiet quiet;

	fathom_quiet_begin(&quiet);
	if (fathom_process_begin() && !fathom_process.disabled)
		fathom_process_enter();
	fathom_quiet_end(&quiet);
	errno = err;
}

#ifdef FATHOM_STAYS
static bool can_be_unloaded(void)
{
	return false;
}
#else
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

/* Whether we are in a plugin with the archive inside, and not in the program. */
static bool can_be_unloaded(void)
{
	return &__ehdr_start &&
	       getauxval(AT_PHDR) != (unsigned long)&__ehdr_start + __ehdr_start.e_phoff;
}
#endif

/*
 * Removes everything but the memory of other threads. A thread that is not counted yet when we read
 * the count sees that the library is disabled. At an exit other threads may still be at work; their
 * records are not heard any more.
 */
static void process_unload(void)
{
	u64 ready = (u64)getpid() << 2 | PROCESS_READY;

	if (__atomic_load_n(process_word(), __ATOMIC_ACQUIRE) != ready)
		return; /* a child that has not used the library */
	__atomic_store_n(&fathom_process.disabled, 1, __ATOMIC_SEQ_CST);
	fathom_thread_leave();
	fathom_identity_withdraw();
	fathom_ring_stop(fathom_process.ring,
			 __atomic_load_n(&fathom_process.threads, __ATOMIC_SEQ_CST) != 0);
}

/* Runs at exit, or when the program unloads an object into which we are linked statically. */
__attribute__((destructor(101))) static void process_stop(void)
{
	int err = errno;
	struct quiet quiet;

	fathom_quiet_begin(&quiet);
	fathom_thread_key_delete();
	if (can_be_unloaded()) {
		if (!fathom_process.disabled)
			process_unload();
		own_unmap();
	}
	fathom_quiet_end(&quiet);
	errno = err;
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
