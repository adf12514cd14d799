/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of the ring while the library is unloaded. */
#include <fathom/fathom.h>

#include "lib/app_ring.h"
#include "lib/thread.h"
#include "unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread int looks, act_at;

/* Stands before the C library's: the library asks in the middle of a first call. */
pid_t getpid(void)
{
	if (++looks == act_at)
		raise(SIGTRAP);
	return (pid_t)syscall(SYS_getpid);
}

static struct app_ring *ring_begin(void)
{
	struct fathom_span s = fathom_span_begin("work"); /* this thread takes one */

	fathom_span_end(&s);
	CHECK_EQ(fathom_process.ring->magic, APP_RING_MAGIC);
	return fathom_process.ring;
}

/* Like a thread that was counted before, and claims a lane while the ring is taken away. */
TEST(no_lane_comes_into_use_while_the_library_leaves)
{
	struct app_ring *ring = ring_begin();
	static struct fathom_thread t;
	u32 used = ring->lanes_used;
	bool claimed;

	t.ring = ring;
	t.tid = 1;
	fathom_process.disabled = 1;
	claimed = fathom_lane_claim(&t);
	fathom_process.disabled = 0;
	CHECK(!claimed);
	CHECK(t.lane == NULL);
	CHECK_EQ(ring->lanes_used, used);
	CHECK(fathom_lane_claim(&t));
	CHECK(t.lane != NULL);
	CHECK_EQ(ring->lanes_used, used + 1);
}

static struct fathom_thread *without_lane;

/* Likewise: it asks when it has a lane for a thread that began without one, and maps it. */
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	struct fathom_thread *t = without_lane;

	without_lane = NULL;
	if (t)
		CHECK(fathom_lane_claim(t)); /* by a handler, for a record of its own */
	return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags);
}

static u32 lanes_in_use(const struct app_ring *ring)
{
	u32 used = 0;

	for (u32 i = 0; i < APP_RING_LANES; i++)
		used += ring->table[i].state == APP_LANE_USED;
	return used;
}

TEST(a_thread_that_gets_a_lane_late_takes_one)
{
	struct app_ring *ring = ring_begin();
	static struct fathom_thread t;
	u32 used = lanes_in_use(ring);

	t.ring = ring;
	t.tid = 2;
	without_lane = &t;
	CHECK(fathom_lane_claim(&t));
	CHECK(without_lane == NULL);
	CHECK(t.lane != NULL);
	CHECK_EQ(t.lane_index, ring->lanes_used - 1);
	CHECK_EQ(lanes_in_use(ring), used + 1);
}

static void on_trap(int nr)
{
	struct fathom_span s = fathom_span_begin("in a handler");

	(void)nr;
	fathom_span_end(&s);
}

static void *thread_interrupted(void *arg)
{
	struct fathom_span s;
	int *at = arg;

	looks = 0;
	act_at = *at;
	s = fathom_span_begin("first");
	CHECK(s.state);
	fathom_span_end(&s);
	if (looks < *at)
		*at = 0;
	return NULL;
}

/* The handler sets the thread up; what it interrupted takes no second lane. */
TEST(a_handler_in_a_first_call_leaks_no_lane)
{
	struct sigaction action = {.sa_handler = on_trap};
	struct app_ring *ring = ring_begin();
	u32 threads = fathom_process.threads, used = lanes_in_use(ring);
	pthread_t thread;
	int at = 0;

	CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
	for (int i = 1; i == 1 || at == i - 1; i++) {
		at = i;
		CHECK_EQ(pthread_create(&thread, NULL, thread_interrupted, &at), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(lanes_in_use(ring), used);
		CHECK_EQ(fathom_process.threads, threads);
	}
}

TEST_MAIN()
