/* SPDX-License-Identifier: Apache-2.0 */
/* Times of what the processor's counter said. */
#include "capture/app/counter_clock.h"

#include <unistd.h>

#include "base/counter.h"
#include "base/host_clock.h"
#include "tests/unit/check.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

TEST(before_there_is_a_rate_nothing_is_told)
{
	struct counter_clock clock = {0};

	CHECK(!counter_clock_is_ready(&clock));
	CHECK_EQ(counter_clock_ns(&clock, 1000), 0);
	counter_clock_add(&clock, (struct counter_pair){3000, 10 * MS});
	counter_clock_add(&clock, (struct counter_pair){3003, 10 * MS + 1});
	CHECK(!counter_clock_is_ready(&clock));
	CHECK_EQ(counter_clock_ns(&clock, 3000), 0);
	counter_clock_add(&clock, (struct counter_pair){3000 + 3 * MS, 11 * MS});
	CHECK(counter_clock_is_ready(&clock));
	CHECK_EQ(counter_clock_ns(&clock, 3000), 10 * MS);
}

/* Between two pairs, before all, behind all, and where no time can be. */
TEST(time_goes_evenly_between_pairs)
{
	struct counter_clock clock = {0};

	counter_clock_add(&clock, (struct counter_pair){10 * MS, 1000 * MS});
	counter_clock_add(&clock, (struct counter_pair){40 * MS, 1010 * MS});
	counter_clock_add(&clock, (struct counter_pair){60 * MS, 1020 * MS});
	CHECK_EQ(counter_clock_ns(&clock, 25 * MS), 1005 * MS);
	CHECK_EQ(counter_clock_ns(&clock, 40 * MS), 1010 * MS);
	CHECK_EQ(counter_clock_ns(&clock, 50 * MS), 1015 * MS);
	CHECK_EQ(counter_clock_ns(&clock, 62 * MS), 1021 * MS);
	CHECK_EQ(counter_clock_ns(&clock, 7 * MS), 999 * MS);
	CHECK_EQ(counter_clock_ns(&clock, 10 * MS - 9 * S), 0);
	CHECK(counter_clock_ns(&clock, 1ull << 62) > 1ull << 60);
	CHECK(counter_clock_ns(&clock, (1ull << 63) - 1) >= 1ull << 60);
}

/* A guest that goes on elsewhere. */
TEST(a_counter_that_goes_back_begins_anew)
{
	struct counter_clock clock = {0};

	counter_clock_add(&clock, (struct counter_pair){10 * MS, 1000 * MS});
	counter_clock_add(&clock, (struct counter_pair){40 * MS, 1010 * MS});
	counter_clock_add(&clock,
			  (struct counter_pair){50 * MS, 1009 * MS}); /* no time goes back */
	CHECK_EQ(counter_clock_ns(&clock, 40 * MS), 1010 * MS);
	counter_clock_add(&clock, (struct counter_pair){3 * MS, 1020 * MS});
	CHECK(!counter_clock_is_ready(&clock));
	counter_clock_add(&clock, (struct counter_pair){7 * MS, 1021 * MS});
	CHECK_EQ(counter_clock_ns(&clock, 5 * MS), 1020 * MS + MS / 2);
}

/*
 * A clock that is slewed by 500 ppm, which the kernel does at most, every other second: what was
 * read within the last 3 ms is off by less than 1 us, what is older by a twelfth of what the clock
 * gained meanwhile.
 */
TEST(a_slewed_clock_for_long)
{
	enum { TIMES = 10 * 60 * 1000 };
	static const u64 ages[] = {1, 2, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000, 500000};
	static u64 counters[TIMES], times[TIMES];
	struct counter_clock clock = {0};
	u64 counter = S, ns = 77 * S;

	for (u64 ms = 0; ms < TIMES; ms++) {
		counter_clock_add(&clock, (struct counter_pair){counter, ns});
		counters[ms] = counter;
		times[ms] = ns;
		for (size_t i = 0; ms % 77 == 0 && i < sizeof(ages) / sizeof(*ages); i++) {
			u64 most = 500 * ages[i] / 12, at = ms - ages[i]; /* ppm of ms are ns */

			if (ms < 10 || ages[i] > ms)
				break;
			CHECK(distance(counter_clock_ns(&clock, counters[at]), times[at]) <=
			      (ages[i] > 3 ? most + 10 : US));
			CHECK(distance(counter_clock_ns(&clock, counters[at] + MS), times[at]) <
			      most + MS);
		}
		counter += 3 * MS;
		ns += ms / 1000 % 2 ? 1000500 : MS;
	}
	CHECK(clock.count < COUNTER_PAIRS);
	CHECK_EQ(counter_clock_ns(&clock, S), 77 * S); /* the first one is kept */
}

/* As long as nothing is drained nothing is looked at: pairs may come at any distance. */
TEST(pairs_at_any_distance_have_room)
{
	struct counter_clock clock = {0};
	u64 ns = S;

	for (u64 i = 0; i < 300000; i++) {
		ns += i % 1000 == 999 ? 3600 * S : 500 * US + i * i % 7 * 700 * US;
		counter_clock_add(&clock, (struct counter_pair){2 * ns, ns});
		CHECK(clock.count > 0 && clock.count <= COUNTER_PAIRS);
		CHECK_EQ(counter_clock_newest(&clock), 2 * ns);
	}
	CHECK_EQ(counter_clock_ns(&clock, 2 * ns), ns);
	CHECK(distance(counter_clock_ns(&clock, ns), ns / 2) < US);
}

/* The kernel's own clock: a stamp lies between two readings of it. */
TEST(stamps_lie_where_they_were_made)
{
	enum { STAMPS = 500 };
	struct counter_clock clock = {0};
	u64 before[STAMPS], counter[STAMPS], after[STAMPS], last = 0;

	if (!counter_is_clock())
		SKIP("the kernel's clock is not made of the processor's counter");
	for (int i = 0; i < STAMPS; i++) {
		if (i % 3 == 0)
			counter_clock_look(&clock);
		usleep(i % 50 ? 200 : 20000);
		before[i] = host_clock_now_ns();
		counter[i] = counter_read();
		after[i] = host_clock_now_ns();
	}
	counter_clock_look(&clock);
	for (int i = 0; i < STAMPS; i++) {
		u64 ns = counter_clock_ns(&clock, counter[i]);

		CHECK(ns + US > before[i]);
		CHECK(ns < after[i] + US);
		CHECK(ns > last);
		last = ns;
	}
}

TEST_MAIN()
