/* SPDX-License-Identifier: Apache-2.0 */
#include "model/meter.h"

#include "tests/unit/check.h"

static const struct meter_stretch stretches[] = {{100, 200}, {200, 250}, {400, 500}};

TEST(time_goes_to_the_stretches_that_it_overlaps)
{
	struct meter m = {.stretches = stretches, .count = 3};

	meter_spend(&m, SPLIT_user, 0, 150);
	meter_spend(&m, SPLIT_lock, 150, 450);
	meter_spend(&m, SPLIT_user, 450, 460);
	CHECK_EQ(meter_split(&m, 0)->ns[SPLIT_user], 50);
	CHECK_EQ(meter_split(&m, 0)->ns[SPLIT_lock], 50);
	CHECK_EQ(meter_split(&m, 1)->ns[SPLIT_lock], 50);
	CHECK_EQ(meter_split(&m, 2)->ns[SPLIT_lock], 50);
	CHECK_EQ(meter_split(&m, 2)->ns[SPLIT_user], 10);
	CHECK(!m.failed);
	meter_free(&m);
}

TEST(time_outside_of_all_stretches_is_not_kept)
{
	struct meter m = {.stretches = stretches, .count = 3};

	meter_spend(&m, SPLIT_user, 0, 100);
	meter_spend(&m, SPLIT_user, 250, 400);
	meter_spend(&m, SPLIT_user, 500, 900);
	for (size_t i = 0; i < 3; i++)
		CHECK(meter_split(&m, i) == NULL);
	meter_free(&m);
}

TEST(a_thread_is_on_a_cpu_at_the_begin_of_a_stretch_or_not)
{
	struct meter m = {.stretches = stretches, .count = 3};

	meter_spend(&m, SPLIT_cpu, 0, 101);
	meter_spend(&m, SPLIT_lock, 101, 220);
	meter_spend(&m, SPLIT_user, 220, 400);
	CHECK(meter_on_cpu(&m, 0));
	CHECK(!meter_on_cpu(&m, 1));
	CHECK(!meter_on_cpu(&m, 2)); /* it left its CPU just then */
	meter_free(&m);
}

TEST(the_stretch_behind_a_time)
{
	CHECK_EQ(meter_stretch_behind(stretches, 3, 0), 0);
	CHECK_EQ(meter_stretch_behind(stretches, 3, 199), 0);
	CHECK_EQ(meter_stretch_behind(stretches, 3, 200), 1);
	CHECK_EQ(meter_stretch_behind(stretches, 3, 300), 2);
	CHECK_EQ(meter_stretch_behind(stretches, 3, 500), 3);
}

TEST_MAIN()
