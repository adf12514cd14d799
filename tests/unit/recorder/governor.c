/* SPDX-License-Identifier: Apache-2.0 */
/* What the governor decides, second by second, over loads that are simulated. */
#include "recorder/governor.h"

#include <stdlib.h>

#include "tests/unit/check.h"

#define SECOND_NS 1000000000ull
#define BUDGET 30000 /* 3 % */

/* A host: recording costs this part of its load, at each level, in percent. */
struct host {
	u32 percent[STEP_LEVELS];
	u32 noise; /* a second costs up to so many percent more or less */
	struct governor g;
	u64 now_ns;
	u32 steps[4]; /* by enum step_why */
	u32 costs[GOVERNOR_SECONDS];
	size_t seconds;
	bool held;
};

static struct host host_of(u32 waits, u32 calls)
{
	struct host h = {.percent = {waits, calls}, .now_ns = SECOND_NS};

	h.g = governor_begin(BUDGET, STEP_LEVEL_calls, h.now_ns);
	return h;
}

static u32 cost_of(const struct host *h, u8 level, u32 load_ppm)
{
	return load_ppm / 100 * h->percent[level];
}

/* A second at that load; returns what was decided. */
static struct governor_decision second(struct host *h, u32 load_ppm)
{
	struct governor_input in = {.held = h->held};
	struct governor_decision d;
	u32 cost = cost_of(h, h->g.level, load_ppm);

	if (h->noise)
		cost = cost / 100 * (100 - h->noise + (u32)rand() % (2 * h->noise + 1));
	h->now_ns += SECOND_NS;
	in.now_ns = h->now_ns;
	in.second = (struct governor_second){SECOND_NS, cost, load_ppm};
	for (u8 level = 0; level < h->g.level; level++)
		in.predicted_ppm[level] = cost_of(h, level, load_ppm);
	h->costs[h->seconds++ % GOVERNOR_SECONDS] = cost;
	d = governor_decide(&h->g, &in);
	h->steps[d.why]++;
	CHECK_EQ(d.to, h->g.level);
	return d;
}

static u32 mean_of_ten(const struct host *h)
{
	u64 sum = 0;

	for (size_t i = 0; i < GOVERNOR_SECONDS; i++)
		sum += h->costs[i];
	return (u32)(sum / GOVERNOR_SECONDS);
}

static void seconds(struct host *h, int n, u32 load_ppm)
{
	while (n-- > 0)
		second(h, load_ppm);
}

TEST(a_second_above_twice_the_budget_steps_down_at_once)
{
	struct host h = host_of(2, 15);
	struct governor_decision d = second(&h, 900000);

	CHECK_EQ(d.why, STEP_above);
	CHECK_EQ(d.from, STEP_LEVEL_calls);
	CHECK_EQ(d.to, STEP_LEVEL_waits);
	CHECK_EQ(d.cost_ppm, 135000);
	CHECK_EQ(d.predicted_ppm, 18000);
}

TEST(what_fits_stays)
{
	struct host h = host_of(1, 3);

	seconds(&h, 3600, 900000); /* 2.7 % */
	CHECK_EQ(h.steps[STEP_none], 3600);
	CHECK_EQ(governor_mean(&h.g).cost_ppm, 27000);
}

/* A second above the budget is none of ten. */
TEST(a_short_peak_stays)
{
	struct host h = host_of(1, 5);

	for (int i = 0; i < 100; i++) {
		seconds(&h, 9, 300000); /* 1.5 % */
		second(&h, 1000000);	/* 5 % */
	}
	CHECK_EQ(h.steps[STEP_none], 1000);
}

/* Whatever the level costs between once and twice the budget. */
TEST(the_mean_of_ten_seconds_holds)
{
	for (u32 percent = 31; percent <= 60; percent++) {
		struct host h = host_of(10, percent);

		for (int i = 0; i < 300; i++) {
			second(&h, 100000);
			if (h.seconds >= GOVERNOR_SECONDS)
				CHECK(mean_of_ten(&h) <= BUDGET);
		}
		CHECK_EQ(h.g.level, STEP_LEVEL_waits);
	}
}

/* The same load as before: calls would not fit, so nothing is tried for ten minutes. */
TEST(nothing_is_tried_while_the_load_stays)
{
	struct host h = host_of(2, 15);

	h.noise = 10;
	seconds(&h, 599, 900000);
	CHECK_EQ(h.steps[STEP_above], 1);
	CHECK_EQ(h.steps[STEP_below], 0);
	seconds(&h, 60, 900000); /* then once, and that fails */
	CHECK_EQ(h.steps[STEP_below], 1);
	CHECK_EQ(h.steps[STEP_above], 2);
	CHECK_EQ(h.g.level, STEP_LEVEL_waits);
}

TEST(the_level_comes_back_with_less_load_and_not_before_half_a_minute)
{
	struct host h = host_of(2, 15);
	struct governor_decision d;

	second(&h, 900000);
	CHECK_EQ(h.g.level, STEP_LEVEL_waits);
	for (int i = 1; i < 30; i++)
		CHECK_EQ(second(&h, 20000).why, STEP_none);
	d = second(&h, 20000);
	CHECK_EQ(d.why, STEP_below);
	CHECK_EQ(d.to, STEP_LEVEL_calls);
	CHECK(d.predicted_ppm > 0 && d.predicted_ppm < BUDGET);
	seconds(&h, 600, 20000);
	CHECK_EQ(h.steps[STEP_below], 1);
	CHECK_EQ(h.g.level, STEP_LEVEL_calls);
}

/* What is predicted is wrong: the load is of another kind, and each try fails. */
TEST(each_failed_try_doubles_the_wait)
{
	struct host h = host_of(2, 15);
	u64 tried_ns[8], since_ns;
	int tries = 0;

	second(&h, 900000);
	since_ns = h.now_ns;
	h.percent[STEP_LEVEL_calls] = 300;
	while (tries < 8) {
		if (second(&h, 50000).why != STEP_below)
			continue;
		tried_ns[tries++] = h.now_ns - since_ns;
		CHECK_EQ(second(&h, 50000).why, STEP_above);
		since_ns = h.now_ns;
		/* it learns what it costs; the kind of load changes again */
		h.g.left[STEP_LEVEL_calls] = (struct governor_second){SECOND_NS, 1000, 50000};
	}
	CHECK_EQ(tried_ns[0] / SECOND_NS, 30);
	CHECK_EQ(tried_ns[1] / SECOND_NS, 60);
	CHECK_EQ(tried_ns[2] / SECOND_NS, 120);
	CHECK_EQ(tried_ns[3] / SECOND_NS, 240);
	CHECK_EQ(tried_ns[4] / SECOND_NS, 480);
	CHECK_EQ(tried_ns[5] / SECOND_NS, 600);
	CHECK_EQ(tried_ns[7] / SECOND_NS, 600);
}

TEST(a_try_that_held_ends_the_doubling)
{
	struct host h = host_of(2, 15);

	second(&h, 900000);
	h.g.wait_ns = 240 * SECOND_NS;
	seconds(&h, 240, 20000);
	CHECK_EQ(h.g.level, STEP_LEVEL_calls);
	seconds(&h, 241, 20000);
	second(&h, 900000);
	CHECK_EQ(h.g.level, STEP_LEVEL_waits);
	CHECK_EQ(h.g.wait_ns, GOVERNOR_WAIT_NS);
}

/* A load that comes and goes: never two tries within half a minute, and the budget holds. */
TEST(load_comes_and_goes)
{
	for (unsigned int seed = 1; seed <= 50; seed++) {
		struct host h = host_of(2, 15);
		u64 down_ns = 0;

		srand(seed);
		h.noise = 20;
		for (int phase = 0; phase < 60; phase++) {
			u32 load = rand() % 2 ? 20000 : 400000 + (u32)rand() % 600000;

			for (int n = 1 + rand() % 120; n > 0; n--) {
				struct governor_decision d = second(&h, load);

				if (d.why == STEP_above)
					down_ns = h.now_ns;
				if (d.why == STEP_below)
					CHECK(h.now_ns - down_ns >= 30 * SECOND_NS);
				/* a second of full load at calls is half of ten seconds' budget */
				if (h.seconds >= GOVERNOR_SECONDS)
					CHECK(mean_of_ten(&h) <= BUDGET * 13 / 10);
			}
		}
		CHECK(h.steps[STEP_below] > 0 && h.steps[STEP_above] > 0);
		CHECK(h.steps[STEP_above] <= h.steps[STEP_below] + 1);
	}
}

TEST(where_waits_do_not_fit_it_is_told_once)
{
	struct host h = host_of(5, 30);

	seconds(&h, 300, 900000); /* 4.5 % */
	CHECK_EQ(h.steps[STEP_above], 1);
	CHECK_EQ(h.steps[STEP_beyond], 1);
	CHECK_EQ(h.g.level, STEP_LEVEL_waits);
	seconds(&h, 20, 100000); /* it fits again, and then not */
	seconds(&h, 20, 900000);
	CHECK_EQ(h.steps[STEP_beyond], 2);
}

TEST(a_level_that_somebody_chose_is_left_alone)
{
	struct host h = host_of(2, 15);

	h.held = true;
	seconds(&h, 100, 900000);
	CHECK_EQ(h.steps[STEP_none], 100);
	h.held = false;
	CHECK_EQ(second(&h, 900000).why, STEP_above);
}

TEST_MAIN()
