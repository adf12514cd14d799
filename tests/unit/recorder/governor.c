/* SPDX-License-Identifier: Apache-2.0 */
/* What the governor decides, second by second, over loads that are simulated. */
#include "recorder/governor.h"

#include <stdlib.h>

#include "tests/unit/check.h"

#define SECOND_NS 1000000000ull
#define BUDGET 30000 /* 3 % */

/* A host: recording costs this part of its load, at each level, in percent. */
struct host {
	u32 percent[GOVERNOR_LEVELS];
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
	struct host h = {.now_ns = SECOND_NS};

	h.percent[GOVERNOR_WAITS] = waits;
	h.percent[GOVERNOR_CALLS] = calls;
	h.g = governor_begin(BUDGET, 1u << GOVERNOR_WAITS | 1u << GOVERNOR_CALLS, h.now_ns);
	return h;
}

#define ALL_BUT_TURNS (((1u << GOVERNOR_LEVELS) - 1) & ~(1u << GOVERNOR_TURNS))

/* A host whose recording has byte ranges, and can pause. */
static struct host host_of_all(u32 waits, u32 bytes, u32 calls)
{
	struct host h = host_of(waits, calls);

	h.percent[GOVERNOR_BYTES] = bytes;
	h.g = governor_begin(BUDGET, ALL_BUT_TURNS, h.now_ns);
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
	CHECK_EQ(d.from, GOVERNOR_CALLS);
	CHECK_EQ(d.to, GOVERNOR_WAITS);
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
		CHECK_EQ(h.g.level, GOVERNOR_WAITS);
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
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
}

TEST(the_level_comes_back_with_less_load_and_not_before_half_a_minute)
{
	struct host h = host_of(2, 15);
	struct governor_decision d;

	second(&h, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
	for (int i = 1; i < 30; i++)
		CHECK_EQ(second(&h, 20000).why, STEP_none);
	d = second(&h, 20000);
	CHECK_EQ(d.why, STEP_below);
	CHECK_EQ(d.to, GOVERNOR_CALLS);
	CHECK(d.predicted_ppm > 0 && d.predicted_ppm < BUDGET);
	seconds(&h, 600, 20000);
	CHECK_EQ(h.steps[STEP_below], 1);
	CHECK_EQ(h.g.level, GOVERNOR_CALLS);
}

/* What is predicted is wrong: the load is of another kind, and each try fails. */
TEST(each_failed_try_doubles_the_wait)
{
	struct host h = host_of(2, 15);
	u64 tried_ns[8], since_ns;
	int tries = 0;

	second(&h, 900000);
	since_ns = h.now_ns;
	h.percent[GOVERNOR_CALLS] = 300;
	while (tries < 8) {
		if (second(&h, 50000).why != STEP_below)
			continue;
		tried_ns[tries++] = h.now_ns - since_ns;
		CHECK_EQ(second(&h, 50000).why, STEP_above);
		since_ns = h.now_ns;
		/* it learns what it costs; the kind of load changes again */
		h.g.left[GOVERNOR_CALLS] = (struct governor_second){SECOND_NS, 1000, 50000};
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
	CHECK_EQ(h.g.level, GOVERNOR_CALLS);
	seconds(&h, 241, 20000);
	second(&h, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
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
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
	seconds(&h, 20, 100000); /* it fits again, and then not */
	seconds(&h, 20, 900000);
	CHECK_EQ(h.steps[STEP_beyond], 2);
}

/* What fathom takes is that of storing spans of others, whatever is recorded. */
TEST(less_is_not_recorded_where_that_saves_next_to_nothing)
{
	struct host h = host_of(1, 15);
	struct governor_decision d;

	h.percent[GOVERNOR_BYTES] = 20;
	h.percent[GOVERNOR_WAITS] = 19;
	h.percent[GOVERNOR_CALLS] = 30;
	h.g.levels |= 1u << GOVERNOR_BYTES;
	d = second(&h, 900000);
	CHECK_EQ(d.from, GOVERNOR_CALLS);
	CHECK_EQ(d.to, GOVERNOR_BYTES); /* 18 % instead of 27; waits would be 17.1 */
	seconds(&h, 100, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_BYTES);
	CHECK_EQ(h.steps[STEP_beyond], 1);
	h.percent[GOVERNOR_WAITS] = 5; /* 4.5 % do not fit into 3, but save much */
	CHECK_EQ(second(&h, 900000).to, GOVERNOR_WAITS);
}

TEST(a_hard_budget_passes_over_what_saves_next_to_nothing)
{
	struct host h = host_of_all(7, 8, 30);

	CHECK_EQ(second(&h, 900000).to, GOVERNOR_OFF);
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

TEST(bytes_lie_between_waits_and_calls)
{
	struct host h = host_of_all(1, 3, 15);
	struct governor_decision d = second(&h, 900000);

	CHECK_EQ(d.from, GOVERNOR_CALLS);
	CHECK_EQ(d.to, GOVERNOR_BYTES); /* 2.7 % */
	CHECK_EQ(d.predicted_ppm, 27000);
	seconds(&h, 29, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_BYTES);
	h.percent[GOVERNOR_BYTES] = 10;
	d = second(&h, 900000);
	CHECK_EQ(d.from, GOVERNOR_BYTES);
	CHECK_EQ(d.to, GOVERNOR_WAITS);
	CHECK_EQ(d.predicted_ppm, 9000);
}

TEST(bytes_are_passed_over_where_they_do_not_fit)
{
	struct host h = host_of_all(1, 10, 15);

	CHECK_EQ(second(&h, 900000).to, GOVERNOR_WAITS);
	CHECK_EQ(h.g.left[GOVERNOR_BYTES].cost_ppm, 90000);
	for (int i = 1; i < 30; i++)
		CHECK_EQ(second(&h, 225000).why, STEP_none);
	CHECK_EQ(second(&h, 225000).to, GOVERNOR_BYTES); /* calls would cost 3.4 % */
}

/* Bytes that the recording never had are no level, and what they would cost is not looked at. */
TEST(levels_that_a_recording_does_not_have_are_passed_over)
{
	struct host h = host_of(1, 15);

	second(&h, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
	seconds(&h, 30, 20000);
	CHECK_EQ(h.g.level, GOVERNOR_CALLS);
	h.g = governor_begin(BUDGET, 1u << GOVERNOR_OFF | 1u << GOVERNOR_WAITS, h.now_ns);
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
}

TEST(where_waits_do_not_fit_a_hard_budget_nothing_is_recorded)
{
	struct host h = host_of_all(10, 12, 30);
	struct governor_decision d = second(&h, 900000);

	CHECK_EQ(d.why, STEP_above);
	CHECK_EQ(d.from, GOVERNOR_CALLS);
	CHECK_EQ(d.to, GOVERNOR_OFF);
	CHECK_EQ(d.predicted_ppm, 0);
}

/* Whatever the tries cost: the pauses make it good, and each failed try doubles them. */
TEST(a_pause_ends_after_half_a_minute_and_doubles_up_to_ten)
{
	struct host h = host_of_all(5, 30, 40);
	u64 paused_ns[8], since_ns;
	int tries = 0;

	seconds(&h, 2, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_OFF);
	since_ns = h.g.stepped_ns;
	while (tries < 8) {
		struct governor_decision d = second(&h, 900000);

		CHECK(d.why != STEP_beyond);
		/* the second of the snapshot comes on top */
		CHECK(!tries || mean_of_ten(&h) <= BUDGET * 13 / 10);
		if (d.why == STEP_above)
			since_ns = h.now_ns;
		if (d.why != STEP_below)
			continue;
		CHECK_EQ(d.from, GOVERNOR_OFF);
		CHECK_EQ(d.to, GOVERNOR_WAITS);
		paused_ns[tries++] = (h.now_ns - since_ns) / SECOND_NS;
	}
	CHECK_EQ(paused_ns[0], 30);
	CHECK_EQ(paused_ns[1], 60);
	CHECK_EQ(paused_ns[4], 480);
	CHECK_EQ(paused_ns[5], 600);
	CHECK_EQ(paused_ns[7], 600);
}

TEST(recording_stays_on_after_a_pause_where_it_fits_again)
{
	struct host h = host_of_all(5, 30, 40);

	seconds(&h, 2, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_OFF);
	seconds(&h, 600, 50000); /* calls cost 2 % */
	CHECK_EQ(h.g.level, GOVERNOR_CALLS);
	CHECK_EQ(h.steps[STEP_above], 1);
}

/* The second in which a pause ends has the snapshot, which is of no level. */
TEST(the_second_of_a_snapshot_does_not_count)
{
	struct host h = host_of_all(5, 30, 40);

	seconds(&h, 2, 900000);
	while (h.g.level == GOVERNOR_OFF)
		second(&h, 100000);
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
	CHECK_EQ(second(&h, 1000000).why, STEP_none);
	CHECK_EQ(h.g.count, 0);
}

TEST(a_pause_that_does_not_hold_the_budget_is_told_once)
{
	struct host h = host_of_all(50, 50, 50);

	h.percent[GOVERNOR_OFF] = 5;
	seconds(&h, 25, 900000); /* 4.5 % */
	CHECK_EQ(h.g.level, GOVERNOR_OFF);
	CHECK_EQ(h.steps[STEP_beyond], 1);
	CHECK_EQ(h.steps[STEP_below], 0);
	seconds(&h, 6, 900000); /* and ends all the same */
	CHECK_EQ(h.steps[STEP_below], 1);
}

TEST(a_pause_can_be_shorter_and_ends_even_if_it_does_not_hold_the_budget)
{
	struct host h = host_of_all(50, 50, 50);

	h.percent[GOVERNOR_OFF] = 5;
	h.g.first_wait_ns = h.g.wait_ns = 2 * SECOND_NS;
	seconds(&h, 2, 900000);
	CHECK_EQ(h.g.level, GOVERNOR_OFF);
	seconds(&h, 2, 900000);
	CHECK_EQ(h.steps[STEP_below], 1);
	CHECK_EQ(h.steps[STEP_beyond], 0);
	seconds(&h, 4, 900000); /* the try fails, late as it may be */
	CHECK_EQ(h.g.level, GOVERNOR_OFF);
	CHECK_EQ(h.g.wait_ns, 4 * SECOND_NS);
}

/* Waits cost 2 % and byte ranges 7 %: in turns little more than waits. An input there is a turn. */
static struct host host_of_turns(u32 waits, u32 levels)
{
	struct host h = host_of(waits, 0);

	h.percent[GOVERNOR_BYTES] = waits + 5;
	h.percent[GOVERNOR_TURNS] = waits;
	h.g = governor_begin(BUDGET, levels, h.now_ns);
	return h;
}

#define WITH_TURNS (1u << GOVERNOR_WAITS | 1u << GOVERNOR_TURNS | 1u << GOVERNOR_BYTES)

TEST(byte_ranges_that_do_not_fit_are_recorded_in_turns)
{
	struct host h = host_of_turns(2, WITH_TURNS);
	struct governor_decision d = second(&h, 1000000);

	CHECK_EQ(d.why, STEP_above);
	CHECK_EQ(d.to, GOVERNOR_TURNS);
	seconds(&h, 500, 1000000);
	CHECK_EQ(h.g.level, GOVERNOR_TURNS);
	seconds(&h, 60, 100000); /* with less load all of them fit */
	CHECK_EQ(h.g.level, GOVERNOR_BYTES);
}

TEST(a_turn_above_the_budget_is_enough_to_end_turns)
{
	struct host h = host_of_turns(4, WITH_TURNS);

	seconds(&h, 10, 500000);
	CHECK_EQ(h.g.level, GOVERNOR_TURNS);
	h.percent[GOVERNOR_WAITS] = 2;
	seconds(&h, 2, 900000); /* 3.6 %; the first one may be of both levels */
	CHECK_EQ(h.g.level, GOVERNOR_WAITS);
}

/* Of `fathom up`: else no request would be followed on a host that is always busy. */
TEST(where_turns_are_the_least_they_stay_and_that_is_told)
{
	struct host h = host_of_turns(4, WITH_TURNS & ~(1u << GOVERNOR_WAITS));

	seconds(&h, 100, 1000000);
	CHECK_EQ(h.g.level, GOVERNOR_TURNS);
	CHECK_EQ(h.steps[STEP_above], 1);
	CHECK_EQ(h.steps[STEP_beyond], 1);
}

TEST_MAIN()
