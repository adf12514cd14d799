/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps between lives. */
#include "map/fact/gaps.h"
#include "cpu_time.h"
#include "map/partial.h"
#include "one_thread.h"

static void gap(struct partial *p, u64 begin_ns, u64 end_ns)
{
	struct record_gap r = {.head = {.kind = RECORD_gap, .time_ns = end_ns},
			       .begin_ns = begin_ns};

	apply(p, &r);
}

static void lives(struct partial *p, u64 time_ns)
{
	struct record_span_detach r = {.head = head(RECORD_span_detach, time_ns)};

	apply(p, &r);
}

/* The second is told twice: a reader knows since when less. */
TEST(a_life_lasts_from_gap_to_gap)
{
	static const u64 begins[] = {1000, 3000, 6000}, ends[] = {2000, 5000, 9000};
	struct partial *p = partial_new(NULL);

	lives(p, 1500);
	gap(p, 2000, 3000);
	lives(p, 4000);
	gap(p, 5000, 6000);
	gap(p, 5500, 6000);
	lives(p, 7000);
	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(p->lives.data[i]->origin_ns, begins[i]);
		CHECK_EQ(p->lives.data[i]->state.last_ns, ends[i]);
	}
	partial_free(p);
}

/* A crash took the record of its begin, which was no older than the gap. */
TEST(one_that_is_seen_first_in_a_gap_began_in_it)
{
	struct partial *p = partial_new(NULL);

	lives(p, 2400);
	gap(p, 2000, 3000);
	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 1);
	CHECK_EQ(p->lives.data[0]->origin_ns, 2000);
	partial_free(p);
}

/* One that has no time, or lies in another, takes nothing of that one. */
TEST(a_time_lies_in_all_gaps_that_reach_it)
{
	struct partial *p = partial_new(NULL);

	gap(p, 2000, 3000);
	gap(p, 2500, 2500);
	gap(p, 5000, 8000);
	gap(p, 5200, 5300);
	gap(p, 5250, 9000);
	gap(p, 9000, 9500);
	gap(p, 9700, 9700);
	CHECK_EQ(gaps_sort(p), 0);
	CHECK_EQ(gap_around(p, 2000), 0);
	CHECK_EQ(gap_around(p, 2001), 2000);
	CHECK_EQ(gap_around(p, 2500), 2000);
	CHECK_EQ(gap_around(p, 3000), 0);
	CHECK_EQ(gap_around(p, 5400), 5000);
	CHECK_EQ(gap_around(p, 9000), 5000);
	CHECK_EQ(gap_around(p, 9500), 0);
	CHECK_EQ(gap_around(p, 9700), 0);
	partial_free(p);
}

static double seconds_of(u64 count)
{
	double begin = cpu_seconds();
	struct partial *p = partial_new(NULL);

	for (u64 i = 1; i <= count; i++) {
		lives(p, 100 * i);
		gap(p, 100 * i + 10, 100 * i + 20);
	}
	partial_cover(p, 1, 100 * count + 100);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, count);
	partial_free(p);
	return cpu_seconds() - begin;
}

TEST(many_take_no_time_squared)
{
	double few = seconds_of(5000);

	CHECK(seconds_of(50000) < 40 * few + 0.1);
}

TEST_MAIN()
