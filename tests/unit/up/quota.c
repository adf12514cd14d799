/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored is bounded, and stands for all. */
#include "up/quota.h"

#include <stdlib.h>

#include "tests/unit/check.h"

#define SECOND_NS UINT64_C(1000000000)

/* What is stored of one kind. */
struct share {
	uint64_t stored, spans, counted, times;
};

static struct share share_of(const struct quota_request *list, size_t count, uint64_t kind)
{
	struct share s = {0};

	for (size_t i = 0; i < count; i++) {
		if (list[i].kind != kind || !list[i].times)
			continue;
		s.stored++;
		s.spans += list[i].spans;
		s.counted += list[i].times;
		s.times = list[i].times;
	}
	return s;
}

/* Requests of four spans: most of kind 1, each fiftieth of kind 2, and two of kind 3. */
static struct quota_request *requests_of(size_t count)
{
	struct quota_request *list = calloc(count, sizeof(*list));

	CHECK(list != NULL);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct quota_request){.kind = i % 50 ? 1 : 2, .spans = 4};
	list[count / 3].kind = list[count / 2].kind = 3;
	return list;
}

TEST(all_are_stored_where_there_is_room)
{
	struct quota q = {.rate = 1000}, none = {0};
	struct quota_request *list = requests_of(7000);

	CHECK_EQ(quota_choose(&q, list, 7000, 50 * SECOND_NS), 0);
	for (size_t i = 0; i < 7000; i++)
		CHECK_EQ(list[i].times, 1);
	CHECK_EQ(q.room_ns, 2 * SECOND_NS);
	CHECK_EQ(quota_choose(&none, list, 7000, 50 * SECOND_NS), 0);
	CHECK_EQ(quota_choose(&none, list, 7000, 50 * SECOND_NS), 0);
	for (size_t i = 0; i < 7000; i++)
		CHECK_EQ(list[i].times, 1);
	free(list);
}

TEST(rare_ones_are_stored_whole_and_others_stand_for_what_is_left_out)
{
	const size_t count = 50000; /* 200,000 spans */
	struct quota q = {.rate = 1000};
	struct quota_request *list = requests_of(count);
	struct share often, seldom, rare;

	CHECK_EQ(quota_choose(&q, list, count, 50 * SECOND_NS), 0);
	often = share_of(list, count, 1);
	seldom = share_of(list, count, 2);
	rare = share_of(list, count, 3);
	CHECK_EQ(rare.stored, 2);
	CHECK_EQ(rare.times, 1);
	CHECK(seldom.stored >= 998 && seldom.times == 1);
	CHECK_EQ(often.times, 8);
	CHECK(often.counted + often.times > 48998 && often.counted < 49000 + often.times);
	CHECK(often.spans + seldom.spans + rare.spans <= 30000);
	free(list);
}

/* As long as the load lasts: no more than that in the mean, and counts are those of all. */
TEST(the_mean_is_bounded)
{
	const size_t count = 20000; /* 80,000 spans in each ten seconds */
	struct quota q = {.rate = 1000};
	uint64_t spans = 0, counted = 0;

	for (uint64_t pass = 1; pass <= 60; pass++) {
		struct quota_request *list = requests_of(count);

		CHECK_EQ(quota_choose(&q, list, count, pass * 10 * SECOND_NS), 0);
		for (uint64_t kind = 1; kind <= 3; kind++) {
			struct share s = share_of(list, count, kind);

			spans += s.spans;
			counted += s.counted;
		}
		free(list);
	}
	CHECK(spans <= 1000 * (30 + 590) + 400);
	CHECK(spans >= 1000 * 500);
	CHECK(counted > 60 * count * 99 / 100 && counted < 60 * count * 101 / 100);
}

/* Where there is no room at all, so many stand for the others that some are stored. */
TEST(some_are_stored_without_room)
{
	struct quota q = {.rate = 1, .room_ns = -100 * (int64_t)SECOND_NS};
	struct quota_request *list = requests_of(6400);
	struct share often;

	CHECK_EQ(quota_choose(&q, list, 6400, SECOND_NS), 0);
	often = share_of(list, 6400, 1);
	CHECK_EQ(often.times, QUOTA_TIMES_MOST);
	CHECK(often.stored >= 97 && often.stored <= 98);
	free(list);
}

/* A client that alternates between two pages: both are stored about equally. */
TEST(no_rhythm_is_in_what_is_stored)
{
	const size_t count = 60000;
	struct quota q = {.rate = 100};
	struct quota_request *list = calloc(count, sizeof(*list));
	size_t stored[2] = {0};

	CHECK(list != NULL);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct quota_request){.kind = 5, .spans = 1};
	CHECK_EQ(quota_choose(&q, list, count, SECOND_NS), 0);
	for (size_t i = 0; i < count; i++)
		stored[i % 2] += list[i].times > 0;
	CHECK_EQ(stored[0] + stored[1], 3000);
	CHECK(stored[0] > 1300 && stored[0] < 1700);
	free(list);
}

TEST(one_stands_for_those_like_it_and_for_what_was_not_seen)
{
	const struct quota_request one = {.times = 1}, five = {.times = 5};

	CHECK_EQ(quota_stands_for(&one, 0, SECOND_NS, SECOND_NS), 0);
	CHECK_EQ(quota_stands_for(&one, 33, SECOND_NS, SECOND_NS), 33);
	CHECK_EQ(quota_stands_for(&five, 0, SECOND_NS, SECOND_NS), 5);
	CHECK_EQ(quota_stands_for(&five, 33, 0, 0), 165);
	CHECK_EQ(quota_stands_for(&five, 0, 2 * SECOND_NS, 9 * SECOND_NS), 23); /* of 22.5 */
	CHECK_EQ(quota_stands_for(&one, 0, SECOND_NS, 100 * SECOND_NS), QUOTA_UNSEEN_MOST);
	CHECK_EQ(quota_stands_for(&one, 0, 0, SECOND_NS), QUOTA_UNSEEN_MOST);
}

TEST_MAIN()
