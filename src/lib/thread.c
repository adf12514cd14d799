/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a thread of the program, its lane in the ring, and its published context. */
#include "lib/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/frames.h"
#include "lib/identity.h"
#include "lib/process.h"
#include "lib/ring_file.h"

/*
 * OpenTelemetry's thread context: points to the active record, NULL if there is none. Readers
 * outside the process find the variable by this name, see OTEP 4947.
 */
FATHOM_API extern __thread void *otel_thread_ctx_v1;
__thread void *otel_thread_ctx_v1;

__thread struct fathom_thread *fathom_self;
u64 fathom_live[(WHERE_ROWS + 1) * THREAD_FRAMES] __attribute__((aligned(64)));

static pthread_key_t thread_key;
static bool thread_key_valid;

/* Takes a lane whose state is `from`. 1: it is ours; 0: another thread has it; -1: none can be had.
 */
static int lane_take(struct fathom_thread *t, u32 i, u32 from)
{
	struct app_lane_entry *entry = &t->ring->table[i];
	u32 used = __atomic_load_n(&t->ring->lanes_used, __ATOMIC_RELAXED), was = from;
	struct app_lane *lane, *none = NULL;

	/* with a bus lock, unlike that of records: threads compete for lanes */
	if (!__atomic_compare_exchange_n(&entry->state, &was, APP_LANE_USED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	lane = fathom_ring_lane_map(t->ring, i);
	if (!lane) {
		__atomic_store_n(&entry->state, from, __ATOMIC_RELEASE);
		return -1;
	}
	__atomic_store_n(&entry->tid, t->tid, __ATOMIC_RELAXED);
	while (used < i + 1 &&
	       !__atomic_compare_exchange_n(&t->ring->lanes_used, &used, i + 1, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	/* either we see that the ring is being removed, or the thread that does so sees the lane */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (process_is_leaving())
		return -1;
	if (__atomic_compare_exchange_n(&t->lane, &none, lane, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		t->lane_index = i;
	else /* a signal handler has taken one for us */
		__atomic_store_n(&entry->state, from, __ATOMIC_RELEASE);
	return 1;
}

static bool lane_has_room(u32 i)
{
	const struct app_lane *lane = fathom_ring_lane(i);

	return !lane || __atomic_load_n(&lane->control.head, __ATOMIC_RELAXED) -
					__atomic_load_n(&lane->control.tail, __ATOMIC_RELAXED) <=
				APP_RING_SLOTS / 2;
}

/*
 * Whether a lane may be taken in that pass. Lanes that were used before come first, if they have
 * room, then new ones, then any that nobody has. So memory grows with the number of threads that
 * live at once, and not with all that ever lived.
 */
static bool lane_suits(const struct app_ring *ring, u32 i, int pass)
{
	if (__atomic_load_n(&ring->table[i].state, __ATOMIC_ACQUIRE) == APP_LANE_USED)
		return false;
	if (pass == 0)
		return i < __atomic_load_n(&ring->lanes_used, __ATOMIC_ACQUIRE) && lane_has_room(i);
	return pass == 2 || i >= __atomic_load_n(&ring->lanes_used, __ATOMIC_ACQUIRE);
}

bool fathom_lane_claim(struct fathom_thread *t)
{
	struct app_ring *ring = t->ring;
	int taken = 0, err = errno;

	if (ring->magic != APP_RING_MAGIC) /* it only stands for a ring */
		return false;
	for (int pass = 0; pass < 3 && taken == 0; pass++) {
		for (u32 i = 0; i < APP_RING_LANES && taken == 0 && !process_is_leaving(); i++) {
			u32 state = __atomic_load_n(&ring->table[i].state, __ATOMIC_RELAXED);

			if (lane_suits(ring, i, pass) && state != APP_LANE_USED)
				taken = lane_take(t, i, state);
		}
	}
	errno = err; /* mapping a lane may have changed it */
	return taken == 1;
}

static void lane_release(struct fathom_thread *t)
{
	struct app_lane *lane = t->lane;
	u32 state;

	if (!lane)
		return;
	state = __atomic_load_n(&lane->control.head, __ATOMIC_RELAXED) ==
				__atomic_load_n(&lane->control.tail, __ATOMIC_ACQUIRE)
			? APP_LANE_FREE
			: APP_LANE_LEFT;
	__atomic_store_n(&t->ring->table[t->lane_index].state, state, __ATOMIC_RELEASE);
}

/*
 * Takes the record away that we have published on this thread, but not one of another library.
 * Reads no field of `t`, since a fork may have wiped it.
 */
static void context_clear(const struct fathom_thread *t)
{
	if ((uintptr_t)otel_thread_ctx_v1 - (uintptr_t)t < sizeof(*t))
		*(void *volatile *)&otel_thread_ctx_v1 = NULL;
}

/* A thread ends. Its records are made unreachable first, and then freed. */
static void thread_end(void *arg)
{
	struct fathom_thread *t = arg;
	bool ready = t->ready == THREAD_READY;

	context_clear(t);
	fathom_self = NULL;
	signal_fence();
	if (ready)
		lane_release(t);
	munmap(t, sizeof(*t));
	if (ready)
		__atomic_fetch_sub(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
}

void fathom_thread_leave(void)
{
	struct fathom_thread *t = fathom_self;

	if (!t || t->ready != THREAD_READY)
		return;
	context_clear(t);
	fathom_self = NULL;
	signal_fence();
	lane_release(t);
	munmap(t, sizeof(*t));
	__atomic_fetch_sub(&fathom_process.threads, 1, __ATOMIC_SEQ_CST);
}

void fathom_thread_key_create(void)
{
	thread_key_valid = pthread_key_create(&thread_key, thread_end) == 0;
}

void fathom_thread_key_delete(void)
{
	if (thread_key_valid)
		pthread_key_delete(thread_key);
	thread_key_valid = false;
}

void fathom_thread_forked(void)
{
	fathom_process.threads = 0;
	if (!fathom_self)
		return;
	context_clear(fathom_self);
	fathom_self->ready = 0;
}

const struct frame *fathom_thread_beside(const struct fathom_thread *t)
{
	const struct frame *f = otel_thread_ctx_v1;

	if (t->published != &t->unpublished || !fathom_identity_is_beside())
		return NULL;
	return f && f->valid == 1 && id_load(f->ctx.span) ? f : NULL;
}

/* Seeds the ids of the thread: by the kernel, or else by values that differ between threads. */
static void thread_seed(struct fathom_thread *t)
{
	u64 seed[3];

	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		seed[0] = clock_now_ns() * 0x9e3779b97f4a7c15ull;
		seed[1] = ((u64)t->tid << 32 | t->pid) * 0xd1342543de82ef95ull;
		seed[2] = seed[0] ^ (u64)(uintptr_t)t;
	}
	t->id_state = seed[0];
	t->id_gamma = seed[1] | 1;
	t->id_key = seed[2];
}

static void thread_prepare(struct fathom_thread *t)
{
	t->tid = (u32)syscall(SYS_gettid);
	t->pid = (u32)getpid();
	t->process = t->pid | fathom_process.generation << PROCESS_PID_BITS;
	t->ring = fathom_process.ring;
	t->lane = NULL;
	t->told = 0;
	t->top = NULL;
	t->depth = 0;
	t->floor = 0;
	t->sample_left = 0;
	t->published = fathom_identity_stands_down() ? &t->unpublished
						     : (struct frame **)&otel_thread_ctx_v1;
	*t->published = NULL;
	thread_seed(t);
	t->live = t->hidden;
	t->home = WHERE_HIDDEN;
	if (fathom_lane_claim(t) && t->lane_index < WHERE_ROWS) {
		t->live = fathom_live + (size_t)t->lane_index * THREAD_FRAMES;
		t->home = t->lane_index * THREAD_FRAMES + 1;
	}
	signal_fence();
	t->ready = THREAD_READY;
}

static struct fathom_thread *thread_create(void)
{
	struct fathom_thread *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	madvise(t, sizeof(*t), MADV_WIPEONFORK); /* if it fails, the fork handler clears `ready` */
	thread_prepare(t);
	return t;
}

bool fathom_thread_start(void)
{
	struct fathom_thread *t, *none = NULL;

	if (fathom_identity_publish() < 0) /* another library may own the context: not known yet */
		return false;
	if (thread_is_set_up())
		return false;
	t = fathom_self;
	if (t) {
		thread_prepare(t);
		return true;
	}
	t = thread_create();
	if (!t)
		return false;
	/* one instruction, so that the handler comes before it or after it */
	if (!__atomic_compare_exchange_n(&fathom_self, &none, t, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED)) {
		lane_release(t);
		munmap(t, sizeof(*t));
		return false;
	}
	if (thread_key_valid)
		pthread_setspecific(thread_key, t);
	return true;
}
