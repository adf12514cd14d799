/* SPDX-License-Identifier: Apache-2.0 */
/* A wait for a CPU is shared by who had it. */
#include "model/turns.h"

#include "tests/unit/check.h"

static u64 share_of(const struct turns *turns, u64 ns, u32 tid, size_t *count)
{
	struct turn_share shares[TURNS_MAX];

	*count = turns_share(turns, ns, shares);
	for (size_t i = 0; i < *count; i++)
		if (shares[i].tid == tid)
			return shares[i].ns;
	return 0;
}

TEST(each_thread_has_the_time_of_its_turns)
{
	const struct turns turns = {{{7, 100}, {8, 300}, {7, 350}, {9, TURN_OPEN}}};
	size_t count;

	CHECK_EQ(share_of(&turns, 320, 7, &count), 120);
	CHECK_EQ(share_of(&turns, 320, 8, &count), 200);
	CHECK_EQ(count, 2);
	CHECK_EQ(share_of(&turns, 1000, 7, &count), 150);
	CHECK_EQ(share_of(&turns, 1000, 9, &count), 650);
	CHECK_EQ(count, 3);
	CHECK_EQ(share_of(&turns, 60, 7, &count), 60);
	CHECK_EQ(count, 1);
}

TEST(what_was_before_all_turns_is_nobodys)
{
	const struct turns turns = {{{7, 100}, {0, 300}}};
	size_t count;

	CHECK_EQ(share_of(&turns, 1000, 7, &count), 100);
	CHECK_EQ(share_of(&turns, 1000, 0, &count), 200);
	CHECK_EQ(count, 2);
}

TEST(a_record_carries_turns)
{
	const struct turns turns = {{{7, 100}, {8, TURN_LONG}}};
	struct record_switch sw = {.head = {.tid = 7}, .next_tid = 5, .nr = 202, .arg0 = 99};
	struct turns got;

	CHECK(!turns_get(&sw, &got));
	CHECK_EQ(got.list[0].ago_ns, 0);
	turns_put(&sw, &turns);
	CHECK(turns_get(&sw, &got));
	CHECK(memcmp(&got, &turns, sizeof(got)) == 0);
	CHECK_EQ(sw.next_tid, 5);
	CHECK_EQ(sw.head.tid, 7);
}

TEST(a_turn_that_began_at_the_switch_is_one)
{
	CHECK_EQ(turn_ago(1000, 1000), 1);
	CHECK_EQ(turn_ago(1000, 900), 100);
	CHECK_EQ(turn_ago(1000, 0), TURN_OPEN);
	CHECK_EQ(turn_ago(20000000000ull, 1), TURN_LONG);
}

TEST_MAIN()
