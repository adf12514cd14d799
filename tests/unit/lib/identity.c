/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of the process reaches each listener, even if that takes several attempts. */
#include "unit/lib/listener.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct listener l;

static bool told(const char *name)
{
	struct record_kept *r;

	for (u32 i = 0; (r = listener_nth(&l, RECORD_service, i)); i++) {
		if (r->service.resource_len > 13 && strcmp(r->service.resource + 13, name) == 0)
			return true;
	}
	return false;
}

static void span_once(void)
{
	struct fathom_span s = fathom_span_begin("s");

	fathom_span_end(&s);
}

/* As with a late reader: every lane is full. */
static void lane_fill(void)
{
	struct ring_control *c = &l.ring->lane[0].control;

	c->head = c->tail + APP_RING_SLOTS;
}

static void lane_empty(void)
{
	struct ring_control *c = &l.ring->lane[0].control;

	for (u32 i = 0; i < APP_RING_SLOTS; i++)
		memset(l.ring->lane[0].slots[i].bytes, 0, 4);
	c->tail = c->head;
}

TEST(it_is_told_once_there_is_room)
{
	u64 lost;

	CHECK_EQ(fathom_init("shop"), 0);
	listener_start(&l);
	lane_fill();
	lost = app_ring_lost(l.ring);
	span_once();
	CHECK_EQ(app_ring_lost(l.ring), lost + 2); /* of the span, and not each try to tell */
	lane_empty();
	span_once();
	listener_stop(&l);
	CHECK(told("shop"));
	CHECK_EQ(listener_count(&l, RECORD_service), 1);
}

TEST(a_new_name_is_told_once_there_is_room)
{
	listener_start(&l);
	span_once();
	lane_fill();
	CHECK_EQ(fathom_init("shop-2"), 0);
	lane_empty();
	span_once();
	listener_stop(&l);
	CHECK(told("shop-2"));
}

#define TICKS 5000

static volatile sig_atomic_t ticks, failed;
static timer_t timer;

/*
 * Interrupts a change of the name; what it writes must not be a record without
 * one. It stops by itself: where it is slow, nothing else gets its turn.
 */
static void handler_span(int signal)
{
	static const struct itimerspec never;

	if (ticks + 1 >= TICKS)
		timer_settime(timer, 0, &never, NULL);
	if (++ticks % 64 == 0)
		app_ring_listen(l.ring, ++l.session, listener_now() + 60000000000ull);
	span_once();
}

TEST(a_busy_identity_is_not_told_empty)
{
	struct sigaction action = {.sa_handler = handler_span, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
	u64 begin = listener_now();
	u32 empty = 0;

	listener_start(&l);
	sigaction(SIGUSR1, &action, NULL);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &often, NULL);
	while (ticks < TICKS && listener_now() - begin < 10000000000ull) {
		failed |= fathom_init("interrupted") != 0;
		listener_drain(&l);
		for (u32 i = 0; i < l.count; i++)
			empty += l.kept[i].head.kind == RECORD_service &&
				 l.kept[i].service.resource_len == 0;
		l.count = 0;
	}
	timer_settime(timer, 0, &never, NULL);
	timer_delete(timer);
	signal(SIGUSR1, SIG_DFL);
	listener_stop(&l);
	CHECK_EQ(empty, 0);
	CHECK_EQ(failed, 0);
	listener_start(&l);
	l.session += 100000; /* one that the handler has not used */
	app_ring_listen(l.ring, l.session, listener_now() + 60000000000ull);
	span_once();
	listener_stop(&l);
	CHECK(told("interrupted"));
}

TEST(an_endpoint_applies_as_a_whole)
{
	static char address[1200];
	struct fathom_endpoint e = {.name = "changed", .address = address, .port = 80};

	memset(address, 'a', sizeof(address) - 1);
	CHECK_EQ(fathom_init("kept"), 0);
	CHECK(fathom_endpoint_set(&e) < 0);
	listener_start(&l);
	l.session += 200000;
	app_ring_listen(l.ring, l.session, listener_now() + 60000000000ull);
	span_once();
	listener_drain(&l);
	CHECK(told("kept"));
	CHECK(!told("changed"));
	e.address = "192.0.2.1";
	CHECK_EQ(fathom_endpoint_set(&e), 0);
	listener_stop(&l);
	CHECK(told("changed"));
	CHECK_EQ(listener_count(&l, RECORD_service), 2);
	CHECK(memmem(listener_nth(&l, RECORD_service, 1)->service.resource,
		     listener_nth(&l, RECORD_service, 1)->service.resource_len,
		     "network.local.port\00080", 22));
}

/* Fails if two at once fail: each waits for the other, and neither is turned away. */
static void *set_often(void *arg)
{
	char value[32];
	long errors = 0;

	for (int i = 0; i < 300; i++) {
		snprintf(value, sizeof(value), "%d", i);
		errors += fathom_resource_set(arg, value) != 0;
	}
	return (void *)errors;
}

TEST(two_threads_that_set_it)
{
	pthread_t threads[2];
	void *errors[2];

	CHECK_EQ(pthread_create(&threads[0], NULL, set_often, "first"), 0);
	CHECK_EQ(pthread_create(&threads[1], NULL, set_often, "second"), 0);
	pthread_join(threads[0], &errors[0]);
	pthread_join(threads[1], &errors[1]);
	CHECK_EQ((long)errors[0] + (long)errors[1], 0);
}

extern __thread void *otel_thread_ctx_v1;
static pthread_barrier_t together;

/* Which of the two a thread publishes must be known before it publishes. */
static void *first_span(void *arg)
{
	struct fathom_span s;
	void *published;

	pthread_barrier_wait(&together);
	s = fathom_span_begin("first");
	published = otel_thread_ctx_v1;
	if (s.state == 0) /* on a busy host it may give up waiting, and then does nothing */
		return published ? "published" : NULL;
	fathom_span_end(&s);
	return published ? "published" : NULL;
}

static int child_with_a_foreign_context(void)
{
	pthread_t threads[4];
	void *result;
	int bad = 0;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 2;
	pthread_barrier_init(&together, NULL, 4);
	for (int i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, first_span, NULL))
			return 3;
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		bad |= result != NULL;
	}
	return bad;
}

TEST(first_threads_at_once_stand_down_together)
{
	const char *preload = getenv("LD_PRELOAD");
	/* at each exit valgrind looks for leaks in the whole ring, for 20 s */
	int times = preload && strstr(preload, "vgpreload") ? 1 : 50;

	for (int i = 0; i < times; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child_with_a_foreign_context());
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
}

TEST_MAIN()
