/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring begins as if somebody listened, for a tenth of a second: who comes in that time has
 * all; and if nobody does, nothing is written any more. Each test is a forked child, which
 * makes a ring of its own.
 */
#include "unit/lib/listener.h"

#include <pthread.h>
#include <sys/wait.h>

#define RETRY 78 /* a recorder of the whole host was faster, or the machine is slow */
#define TRIES 100

static struct listener l;

/* In a child, where nothing was written yet. Fails with the number of a line. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(1 + __LINE__ % 70);                                                  \
	} while (0)

/* Runs it in children until it could be run as it is meant. The exit status. */
static int child_run(void (*run)(void))
{
	int status = 0;

	for (int i = 0; i < TRIES; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			run();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return -1;
		if (WEXITSTATUS(status) != RETRY)
			break;
		usleep(20000);
	}
	return WEXITSTATUS(status);
}

/* Makes the ring, by being the first to ask. */
static void grace_begin(void)
{
	if (!fathom_listening() || listener_find(&l.ring) != 1)
		_exit(RETRY);
	l.kept = calloc(LISTENER_KEEPS, sizeof(*l.kept));
	if (!l.kept || l.ring->listening != APP_RING_GRACE)
		_exit(RETRY);
	l.ring->lease_ns += 60000000000ull; /* however slow the machine is */
}

static void grace_end(void)
{
	l.ring->lease_ns = 1;
}

static bool take_over(void)
{
	return app_ring_take_over(l.ring, 7, listener_now() + 60000000000ull);
}

static void spans(int n)
{
	for (int i = 0; i < n; i++) {
		struct fathom_span s = fathom_span_begin("s");

		fathom_span_end(&s);
	}
}

static void kinds_expect(const u8 *kinds, u32 count)
{
	listener_drain(&l);
	EXPECT(l.count == count && l.damaged == 0);
	for (u32 i = 0; i < count; i++) {
		EXPECT(l.kept[i].head.kind == kinds[i]);
		EXPECT(i == 0 || l.kept[i].head.time_ns >= l.kept[i - 1].head.time_ns);
	}
}

static void run_early(void)
{
	static const u8 kinds[] = {RECORD_service, RECORD_span_begin, RECORD_span_attribute,
				   RECORD_service, RECORD_span_end,   RECORD_span_begin,
				   RECORD_span_end};
	struct fathom_span first;

	grace_begin();
	EXPECT(l.ring->start_ns <= listener_now());
	first = fathom_span_begin("first");
	EXPECT(fathom_span_recorded(&first));
	fathom_span_integer(&first, "n", 1);
	EXPECT(take_over());
	EXPECT(l.ring->listening == 7);
	fathom_span_end(&first); /* and who we are, once more */
	spans(1);
	kinds_expect(kinds, 7);
	EXPECT(app_ring_lost(l.ring) == 0);
}

TEST(who_comes_early_has_all)
{
	CHECK_EQ(child_run(run_early), 0);
}

static void run_nobody(void)
{
	static const u8 kinds[] = {RECORD_service, RECORD_span_begin, RECORD_span_end};
	struct fathom_span s;

	grace_begin();
	spans(1);
	grace_end();
	s = fathom_span_begin("late");
	fathom_span_integer(&s, "n", 1);
	fathom_span_event(&s, FATHOM_ERROR, "e");
	EXPECT(!fathom_listening() && !fathom_span_recorded(&s));
	fathom_span_end(&s);
	EXPECT(fathom_resource_set("late", "too") == 0);
	EXPECT(l.ring->listening == 0);
	EXPECT(app_ring_lost(l.ring) == 0);
	EXPECT(!take_over());
	kinds_expect(kinds, 3);
}

TEST(if_nobody_comes_nothing_is_written_any_more)
{
	CHECK_EQ(child_run(run_nobody), 0);
}

static void run_identity(void)
{
	static const u8 kinds[] = {RECORD_service};

	grace_begin();
	grace_end();
	EXPECT(fathom_resource_set("late", "too") == 0); /* the first to find it over */
	EXPECT(l.ring->listening == 0);
	kinds_expect(kinds, 1); /* of grace_begin() */
}

TEST(nor_is_who_we_are)
{
	CHECK_EQ(child_run(run_identity), 0);
}

static void run_time(void)
{
	u64 head, begin = listener_now();

	if (!fathom_listening() || listener_find(&l.ring) != 1 ||
	    l.ring->listening != APP_RING_GRACE || listener_now() - begin > APP_RING_GRACE_NS)
		_exit(RETRY);
	EXPECT(l.ring->lease_ns == l.ring->start_ns + APP_RING_GRACE_NS);
	while (listener_now() <= l.ring->lease_ns)
		usleep(1000);
	head = app_ring_head(l.ring, 0);
	spans(100);
	EXPECT(app_ring_head(l.ring, 0) == head);
	EXPECT(l.ring->listening == 0);
}

/* A recorder that was killed takes nothing back; one that is late finds what was written. */
TEST(a_lease_that_is_over_is_no_listener)
{
	u64 lease;

	(void)fathom_listening();
	CHECK_EQ(listener_find(&l.ring), 1);
	app_ring_listen(l.ring, 9, listener_now() + 60000000000ull);
	CHECK(fathom_listening());
	lease = listener_now();
	app_ring_listen(l.ring, 9, lease);
	while (listener_now() < lease + 50000000ull)
		usleep(1000);
	CHECK(!fathom_listening());
	CHECK_EQ(l.ring->listening, 9);
	app_ring_listen(l.ring, 0, 0);
}

TEST(it_is_over_by_itself)
{
	CHECK_EQ(child_run(run_time), 0);
}

/* Nobody has asked since it was over, so nothing was left out. */
static void run_unasked(void)
{
	static const u8 kinds[] = {RECORD_service, RECORD_span_begin, RECORD_service,
				   RECORD_span_end};
	struct fathom_span s;

	grace_begin();
	s = fathom_span_begin("long");
	grace_end();
	EXPECT(take_over());
	fathom_span_end(&s);
	kinds_expect(kinds, 4);
}

TEST(a_long_first_span_is_whole)
{
	CHECK_EQ(child_run(run_unasked), 0);
}

static void run_full(void)
{
	u32 kept;

	grace_begin();
	spans(3000);
	EXPECT(app_ring_head(l.ring, 0) <= APP_RING_SLOTS);
	EXPECT(take_over());
	listener_drain(&l);
	kept = listener_count(&l, RECORD_span_begin) + listener_count(&l, RECORD_span_end);
	EXPECT(kept > 1000 && kept + app_ring_lost(l.ring) == 6000);
}

TEST(what_does_not_fit_is_counted)
{
	CHECK_EQ(child_run(run_full), 0);
}

static void run_other(void)
{
	grace_begin();
	EXPECT(take_over());
	spans(1);
	l.ring->lease_ns = 1; /* and dies */
	EXPECT(!app_ring_take_over(l.ring, 8, listener_now() + 60000000000ull));
	EXPECT(l.ring->listening == 8);
}

TEST(a_listener_that_died_leaves_no_grace)
{
	CHECK_EQ(child_run(run_other), 0);
}

/* ---- the end of the grace and the listener at once ---- */

#define WRITERS 3
#define EACH 60 /* spans of a thread: all fit */

static void *thread_writes(void *arg)
{
	for (int i = 0; i < EACH; i++) {
		struct fathom_span s = fathom_span_begin("w");

		fathom_span_integer(&s, "i", i);
		fathom_span_end(&s);
		sched_yield();
	}
	return NULL;
}

/* Of each thread, all numbers arrived. */
static void runs_expect(void)
{
	struct app_lane_entry *table = l.ring->table;

	for (u32 lane = 0; lane < app_ring_lanes(l.ring); lane++) {
		s64 next = 0;

		for (u32 i = 0; i < l.count; i++) {
			if (l.kept[i].head.tid == table[lane].tid &&
			    l.kept[i].head.kind == RECORD_span_attribute)
				EXPECT(l.kept[i].attribute.value == (u64)next++);
		}
		EXPECT(next == EACH || (next == 0 && table[lane].tid == (u32)getpid()));
	}
}

static void run_race(void)
{
	pthread_t threads[WRITERS];
	bool whole;

	grace_begin();
	l.ring->lease_ns = listener_now() + 100000 + listener_now() % 300000;
	for (int i = 0; i < WRITERS; i++)
		EXPECT(pthread_create(&threads[i], NULL, thread_writes, NULL) == 0);
	while (listener_now() <= l.ring->lease_ns)
		;
	whole = take_over();
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	spans(1);
	listener_drain(&l);
	EXPECT(app_ring_lost(l.ring) == 0 && l.damaged == 0);
	if (whole)
		runs_expect();
	_exit(whole ? 0 : 77);
}

TEST(whole_or_not_at_all)
{
	const char *preload = getenv("LD_PRELOAD");
	/* at each exit valgrind looks for leaks in the whole ring, for 20 s */
	int times = preload && strstr(preload, "vgpreload") ? 1 : 300;
	int whole = 0, late = 0;

	for (int i = 0; i < times; i++) {
		int status = child_run(run_race);

		CHECK(status == 0 || status == 77);
		whole += status == 0;
		late += status == 77;
	}
	printf("# %d times in time, %d times too late\n", whole, late);
}

TEST_MAIN()
