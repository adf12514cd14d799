/* SPDX-License-Identifier: Apache-2.0 */
/* Looks that end when the test wants: at pipes. */
#include "proc/look.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "tests/unit/check.h"

static struct foreign_looks *looks;

struct looker {
	pthread_t thread;
	u64 outer, what;
	int pipe[2];
	int begun, ended, outer_ended, again;
	bool is_taken;
};

static void *looker_run(void *arg)
{
	struct looker *l = arg;
	char byte;

	foreign_looks_join(looks);
	if (l->outer)
		(void)foreign_look_begin(looks, l->outer);
	l->begun = foreign_look_begin(looks, l->what);
	if (!l->begun && read(l->pipe[0], &byte, 1) == 1)
		l->ended = foreign_look_end(looks);
	if (l->outer)
		l->outer_ended = foreign_look_end(looks);
	l->again = foreign_work_is_taken() ? foreign_look_begin(looks, 77) : 0;
	l->is_taken = foreign_work_is_taken();
	return NULL;
}

static void looker_start(struct looker *l, u64 what)
{
	l->what = what;
	CHECK_EQ(pipe2(l->pipe, O_CLOEXEC), 0);
	CHECK_EQ(pthread_create(&l->thread, NULL, looker_run, l), 0);
}

static void looker_go(struct looker *l)
{
	CHECK_EQ(write(l->pipe[1], "x", 1), 1);
}

static void looker_join(struct looker *l)
{
	CHECK_EQ(pthread_join(l->thread, NULL), 0);
	close(l->pipe[0]);
	close(l->pipe[1]);
}

static void take_await(void)
{
	for (int i = 0; i < 30000; i++) {
		if (foreign_looks_take(looks))
			return;
		usleep(1000);
	}
	CHECK_FAIL("it is not late");
}

static int begin_and_end(u64 what)
{
	int err = foreign_look_begin(looks, what);

	if (!err)
		CHECK_EQ(foreign_look_end(looks), 0);
	return err;
}

TEST(nobody_supervises)
{
	CHECK_EQ(foreign_look_begin(NULL, 1), 0);
	CHECK_EQ(foreign_look_end(NULL), 0);
	CHECK(!foreign_work_is_taken());
}

TEST(what_ends_in_time_stays)
{
	struct looker l = {.outer = FOREIGN_PROCESS(3)};

	looks = foreign_looks_new();
	CHECK(looks != NULL);
	CHECK(!foreign_looks_take(looks));
	looker_start(&l, 5);
	looker_go(&l);
	looker_join(&l);
	CHECK_EQ(l.begun | l.ended | l.outer_ended | l.again, 0);
	CHECK(!l.is_taken);
	CHECK(!foreign_looks_take(looks));
	foreign_looks_free(looks);
}

/* What is blamed is the inner look; the thread finds at each end that it is not its own. */
TEST(what_does_not_is_taken_and_skipped)
{
	struct looker l = {.outer = FOREIGN_PROCESS(3)};

	looks = foreign_looks_new();
	looker_start(&l, 5);
	take_await();
	CHECK(!foreign_looks_take(looks));
	foreign_looks_join(looks);
	CHECK_EQ(begin_and_end(5), -EBUSY);
	CHECK_EQ(begin_and_end(FOREIGN_PROCESS(3)), 0);
	CHECK_EQ(begin_and_end(6), 0);
	CHECK_EQ(foreign_looks_returned(looks), 0);
	looker_go(&l);
	looker_join(&l);
	CHECK_EQ(l.ended, -ECANCELED);
	CHECK_EQ(l.outer_ended, -ECANCELED);
	CHECK_EQ(l.again, -ECANCELED);
	CHECK(l.is_taken);
	CHECK(!foreign_work_is_taken());
	CHECK_EQ(foreign_looks_returned(looks), 1);
	CHECK_EQ(begin_and_end(5), 0);
	foreign_looks_free(looks);
}

/* Then what answered before is looked at, and in the end nothing; it all comes back. */
TEST(only_so_many)
{
	struct looker l[FOREIGN_STUCK_MAX] = {0};
	u64 device = 1;

	looks = foreign_looks_new();
	foreign_looks_join(looks);
	for (u64 i = 101; i <= 100 + FOREIGN_STUCK_MAX; i++)
		CHECK_EQ(begin_and_end(i), 0);
	for (int i = 0; i < FOREIGN_STUCK_MAX; i++) {
		device = i < FOREIGN_STUCK_SOME ? (u64)i + 1 : (u64)i + 101;
		looker_start(&l[i], device);
		take_await();
		foreign_looks_join(looks);
		CHECK_EQ(begin_and_end(device), -EBUSY);
		CHECK_EQ(begin_and_end(50 + (u64)i), i + 1 < FOREIGN_STUCK_SOME ? 0 : -EBUSY);
		CHECK_EQ(begin_and_end(101), i + 1 < FOREIGN_STUCK_MAX ? 0 : -EBUSY);
		CHECK_EQ(begin_and_end(FOREIGN_PROCESS(1)), i + 1 < FOREIGN_STUCK_MAX ? 0 : -EBUSY);
	}
	foreign_looks_free(looks); /* before those that are stuck leave it */
	for (int i = 0; i < FOREIGN_STUCK_MAX; i++) {
		looker_go(&l[i]);
		looker_join(&l[i]);
		CHECK_EQ(l[i].ended, -ECANCELED);
	}
}

TEST_MAIN()
