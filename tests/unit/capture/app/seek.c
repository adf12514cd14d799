/* SPDX-License-Identifier: Apache-2.0 */
/* Rings are looked for when and as long as it is worth it. Time is what the test says it is. */
#include "capture/app/seek.h"
#include "base/host_clock.h"

#include "tests/unit/capture/app/writer.h"

#define NEVER UINT64_MAX
#define SECOND 1000000000ull

static struct app_ring_reached *reached[16];
static int reached_count, missed;
static pid_t reached_of;
static unsigned int reach_us; /* how long it takes at least */

static void on_reached(void *arg, pid_t pid, struct app_ring_reached *r)
{
	CHECK(reached_count < 16);
	reached_of = pid;
	usleep(reach_us);
	reached[reached_count++] = r;
}

static void on_missed(void *arg, pid_t pid)
{
	missed++;
}

static struct app_ring_seek *seek_new(void)
{
	const struct app_ring_seek_sink sink = {.reached = on_reached, .missed = on_missed};
	struct app_ring_seek *seek = app_ring_seek_new(&sink);

	CHECK(seek != NULL);
	reached_count = missed = 0;
	reach_us = 0;
	return seek;
}

static void seek_end(struct app_ring_seek *seek)
{
	for (int i = 0; i < reached_count; i++)
		app_ring_drop(reached[i]);
	app_ring_seek_free(seek);
}

/*
 * Runs it until nothing is due, for so many looks at a process at most, and says how many it took.
 * All is due by then, so that it does not matter how long the looks take.
 */
static int looks_until_done(struct app_ring_seek *seek, int most)
{
	for (int i = 0; i < most; i++) {
		if (app_ring_seek_run(seek, NEVER - 1) == NEVER)
			return i + 1;
	}
	return most + 1;
}

TEST(one_that_is_there_is_reached_at_once)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();

	app_ring_seek_made(seek, w.pid, host_clock_now_ns(), host_clock_now_ns());
	CHECK_EQ(looks_until_done(seek, 1), 1);
	CHECK_EQ(reached_count, 1);
	CHECK_EQ(missed, 0);
	seek_end(seek);
	writer_reap(&w);
}

TEST(as_many_as_were_made_are_looked_for)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();
	u64 now = host_clock_now_ns(), due;

	app_ring_seek_made(seek, w.pid, now, now);
	app_ring_seek_made(seek, w.pid, now, now); /* which is not there yet */
	due = app_ring_seek_run(seek, now);
	CHECK_EQ(reached_count, 1);
	CHECK(due != NEVER);
	CHECK_STR(writer_ask(&w, "open"), "done");
	CHECK_EQ(app_ring_seek_run(seek, due), NEVER);
	CHECK_EQ(reached_count, 2);
	CHECK_EQ(missed, 0);
	seek_end(seek);
	writer_reap(&w);
}

/* The look for one of them found both. */
TEST(one_that_was_found_before_it_was_told_of_is_not_missed)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();
	u64 now;

	CHECK_STR(writer_ask(&w, "open"), "done");
	now = host_clock_now_ns();
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK_EQ(looks_until_done(seek, 1), 1);
	CHECK_EQ(reached_count, 1); /* both of them, in a list */
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK_EQ(looks_until_done(seek, 1), 1);
	app_ring_seek_exec(seek, w.pid, host_clock_now_ns());
	CHECK_EQ(missed, 0);
	now = host_clock_now_ns(); /* one that nobody has found */
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK_EQ(looks_until_done(seek, 100), 24);
	CHECK_EQ(missed, 1);
	seek_end(seek);
	writer_reap(&w);
}

TEST(what_was_there_is_looked_for_twice)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();

	CHECK_STR(writer_ask(&w, "open"), "done");
	app_ring_seek_found(seek, w.pid, host_clock_now_ns());
	CHECK_EQ(looks_until_done(seek, 10), 2);
	CHECK_EQ(reached_count, 1);
	CHECK_EQ(missed, 0);
	app_ring_seek_exit(seek, w.pid);
	writer_reap(&w);
	CHECK_EQ(app_ring_seek_run(seek, host_clock_now_ns()), NEVER);
	CHECK_EQ(missed, 0);
	seek_end(seek);
}

TEST(one_that_does_not_come_is_missed_once)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();

	app_ring_seek_made(seek, w.pid, host_clock_now_ns(), host_clock_now_ns());
	CHECK_EQ(looks_until_done(seek, 1), 1);
	app_ring_seek_made(seek, w.pid, host_clock_now_ns(), host_clock_now_ns());
	app_ring_seek_made(seek, w.pid, host_clock_now_ns(), host_clock_now_ns());
	CHECK_EQ(looks_until_done(seek, 100), 24);
	CHECK_EQ(missed, 1);
	CHECK_EQ(reached_count, 1);
	seek_end(seek);
	writer_reap(&w);
}

TEST(another_program_has_other_rings)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();
	u64 now = host_clock_now_ns();

	app_ring_seek_made(seek, w.pid, now - 2, now);
	app_ring_seek_made(seek, w.pid, now - 2, now); /* of the program before */
	app_ring_seek_exec(seek, w.pid, now - 1);
	CHECK_EQ(missed, 1);
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK_EQ(looks_until_done(seek, 1), 1);
	CHECK_EQ(reached_count, 1);
	CHECK_EQ(missed, 1);
	seek_end(seek);
	writer_reap(&w);
}

/* Its number is another's before anybody has seen that it ended. */
TEST(what_one_that_ended_had_made_is_missed)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();
	u64 now = host_clock_now_ns();

	app_ring_seek_made(seek, w.pid, now, now);
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK(app_ring_seek_run(seek, now) != NEVER);
	CHECK_EQ(reached_count, 1);
	app_ring_seek_exit(seek, w.pid);
	CHECK_EQ(missed, 0);
	now = host_clock_now_ns();
	app_ring_seek_made(seek, w.pid, now, now);
	CHECK_EQ(missed, 1);
	seek_end(seek);
	writer_reap(&w);
}

/* Events are taken between two turns and come first; no process waits for two looks at another. */
TEST(a_turn_ends_after_a_while_and_the_next_one_goes_on)
{
	struct writer w[4];
	struct app_ring_seek *seek = seek_new();
	const int order[] = {2, 3, 1, 0};
	u64 now;

	reach_us = 10000; /* longer than a turn */
	for (int i = 0; i < 4; i++)
		w[i] = writer_start();
	now = host_clock_now_ns();
	for (int i = 0; i < 3; i++) {
		app_ring_seek_made(seek, w[i].pid, now, now);
		if (i == 1) /* which is not there, so that it is looked at again */
			app_ring_seek_made(seek, w[i].pid, now, now);
	}
	for (int i = 0; i < 4; i++) {
		now = app_ring_seek_run(seek, NEVER - 1);
		CHECK_EQ(reached_count, i + 1);
		CHECK_EQ(reached_of, w[order[i]].pid);
		if (i == 0)
			app_ring_seek_made(seek, w[3].pid, host_clock_now_ns(),
					   host_clock_now_ns());
	}
	CHECK(now != NEVER);
	CHECK_EQ(looks_until_done(seek, 100), 23);
	CHECK_EQ(missed, 1);
	seek_end(seek);
	for (int i = 0; i < 4; i++)
		writer_reap(&w[i]);
}

static u64 own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * SECOND + (u64)t.tv_nsec;
}

/* Each of its notices is a reason to look at once, until it has had its part of the time. */
TEST(a_process_that_makes_us_look_all_the_time_rests)
{
	struct writer w = writer_start();
	struct app_ring_seek *seek = seek_new();
	u64 begin = host_clock_now_ns(), looked = 0, before, now;
	bool goes_on = true;

	CHECK_STR(writer_ask(&w, "fakes 1000"), "done");
	while (host_clock_now_ns() - begin < SECOND && goes_on) {
		now = host_clock_now_ns();
		app_ring_seek_made(seek, w.pid, now, now);
		before = own_cpu_ns();
		goes_on = app_ring_seek_run(seek, now) != NEVER;
		looked += own_cpu_ns() - before;
		usleep(50);
	}
	printf("# looked for %llu us\n", (unsigned long long)looked / 1000);
	CHECK(goes_on); /* it has a ring that is hidden behind the others */
	CHECK(looked < SECOND / 2);
	seek_end(seek);
	writer_reap(&w);
}

TEST_MAIN()
