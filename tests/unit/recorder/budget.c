/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder makes of the governor's decisions: the level it sets, and the steps it records.
 */
#include "recorder/budget.h"

#include <unistd.h>

#include "tests/unit/check.h"

#define SECOND_NS 1000000000ull
#define STEPS 8

/* A recorder of a host whose programs cost what a test says. */
struct host {
	struct budget budget;
	struct costs costs;
	struct detail detail;
	struct chunking chunks;
	struct record_step steps[STEPS];
	size_t count;
};

static int step_take(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct host *h = arg;

	CHECK_EQ(stream->kind, CAPTURE_STREAM_LIFE);
	CHECK_EQ(r->kind, RECORD_step);
	CHECK(h->count < STEPS);
	h->steps[h->count++] = *(const struct record_step *)r;
	return 0;
}

/* A level that was left is tried again at once. */
static struct host host_of(bool bytes)
{
	const struct budget_options options = {.ppm = 30000, .pause_ns = 1};
	struct host h = {.detail = {.own = CAPTURE_DETAIL_CALLS,
				    .bytes = bytes,
				    .most = CAPTURE_DETAIL_CALLS,
				    .most_bytes = DETAIL_BYTES_ALL},
			 .costs = {.programs_told_ns = 1}};

	budget_begin(&h.budget, &options, &h.detail, 0);
	return h;
}

/*
 * A second in which programs took that many percent of the CPUs, and as many of it were those of
 * calls and of byte ranges. Others spent `load` percent in the kernel.
 */
static void second(struct host *h, u64 cost, u64 calls, u64 bytes, u64 load)
{
	u64 percent_ns = SECOND_NS / 100 * (u64)sysconf(_SC_NPROCESSORS_ONLN);
	const struct capture_sink sink = {.arg = h, .record = step_take};

	h->costs.second = (struct costs_second){.elapsed_ns = SECOND_NS,
						.programs_ns = cost * percent_ns,
						.calls_ns = calls * percent_ns,
						.bytes_ns = bytes * percent_ns};
	h->budget.system_ns -= (cost + load) * percent_ns;
	CHECK_EQ(budget_follow(&h->budget, &h->costs, &h->detail, &h->chunks, &sink), 0);
}

static void check_step(const struct host *h, size_t i, u8 from, u8 to, u8 why)
{
	CHECK(i < h->count);
	CHECK_EQ(h->steps[i].from, from);
	CHECK_EQ(h->steps[i].to, to);
	CHECK_EQ(h->steps[i].why, why);
	CHECK_EQ(h->steps[i].budget_ppm, 30000);
}

TEST(a_step_down_and_one_up_again)
{
	struct host h = host_of(false);

	second(&h, 10, 9, 0, 80);
	CHECK_EQ(h.detail.most, CAPTURE_DETAIL_WAITS);
	check_step(&h, 0, STEP_LEVEL_calls, STEP_LEVEL_waits, STEP_above);
	CHECK_EQ(h.steps[0].cost_ppm, 100000);
	CHECK_EQ(h.steps[0].predicted_ppm, 10000);
	second(&h, 1, 0, 0, 80); /* that of the change is of no level */
	second(&h, 1, 0, 0, 80); /* calls would cost too much again */
	CHECK_EQ(h.count, 1);
	for (int i = 0; i < 10; i++)
		second(&h, 1, 0, 0, 0);
	CHECK_EQ(h.detail.most, CAPTURE_DETAIL_CALLS);
	CHECK_EQ(h.count, 2);
	check_step(&h, 1, STEP_LEVEL_waits, STEP_LEVEL_calls, STEP_below);
	CHECK(h.steps[1].predicted_ppm && h.steps[1].predicted_ppm <= 30000);
}

TEST(byte_ranges_are_a_level_of_their_own)
{
	struct host h = host_of(true);

	second(&h, 10, 8, 1, 80);
	CHECK_EQ(h.detail.most, CAPTURE_DETAIL_WAITS);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_ALL);
	check_step(&h, 0, STEP_LEVEL_calls, STEP_LEVEL_waits_bytes, STEP_above);
	CHECK_EQ(h.steps[0].predicted_ppm, 20000);
	second(&h, 7, 0, 5, 80);
	second(&h, 7, 0, 5, 80);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_TURNS);
	check_step(&h, 1, STEP_LEVEL_waits_bytes, STEP_LEVEL_waits_bytes_turns, STEP_above);
}

static struct host host_in_turns(void)
{
	struct host h = host_of(true);

	second(&h, 10, 8, 1, 80);
	second(&h, 7, 0, 5, 80);
	second(&h, 7, 0, 5, 80);
	CHECK_EQ(h.count, 2);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_TURNS);
	return h;
}

/* Byte ranges in one second of it; the others cost 2 %. */
static void turn(struct host *h, u64 number, u64 cost, int seconds)
{
	h->detail.bytes_turns.turn_ns = number;
	for (int i = 0; i < seconds; i++)
		second(h, i == 5 ? cost : 2, 0, i == 5 ? cost - 2 : 0, 80);
}

/* What counts is a turn as a whole: it is over when the next one begins. */
TEST(turns_that_cost_too_much_are_given_up)
{
	struct host h = host_in_turns();

	turn(&h, 1, 62, 30); /* passed over, as that of the step */
	turn(&h, 2, 62, 30);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_TURNS);
	turn(&h, 3, 62, 1);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_NONE);
	check_step(&h, 2, STEP_LEVEL_waits_bytes_turns, STEP_LEVEL_waits, STEP_above);
}

/* The second with byte ranges alone says nothing of a turn. */
TEST(a_turn_that_something_interrupted_is_a_part_of_the_next_one)
{
	struct host h = host_in_turns();

	turn(&h, 1, 20, 30);
	turn(&h, 2, 20, 10);
	h.detail.asked = true;
	for (int i = 0; i < 5; i++)
		second(&h, 10, 8, 1, 80);
	h.detail.asked = false;
	turn(&h, 3, 20, 6);
	turn(&h, 4, 20, 30);
	turn(&h, 5, 20, 1);
	CHECK_EQ(h.count, 2);
	CHECK_EQ(h.detail.most_bytes, DETAIL_BYTES_TURNS);
}

TEST(what_somebody_asked_for_is_left_alone)
{
	struct host h = host_of(false);

	h.detail.asked = true;
	for (int i = 0; i < 5; i++)
		second(&h, 10, 9, 0, 80);
	CHECK_EQ(h.count, 0);
	CHECK_EQ(h.detail.most, CAPTURE_DETAIL_CALLS);
}

TEST_MAIN()
