/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intervals.h"

#include "../check.h"
#include "base/vec.h"

static void add(struct intervals *list, uint64_t begin_ns, uint64_t end_ns, uint32_t owner)
{
	CHECK_EQ(vec_push(list, (struct interval){begin_ns, end_ns, owner}), 0);
}

static void check(const struct interval *at, uint64_t begin_ns, uint64_t end_ns, uint32_t owner)
{
	CHECK_EQ(at->begin_ns, begin_ns);
	CHECK_EQ(at->end_ns, end_ns);
	CHECK_EQ(at->owner, owner);
}

/* Of owner 1: [10, 60) and [70, 80); of owner 2: [20, 30). */
static struct intervals joined(void)
{
	struct intervals list = {0};

	add(&list, 70, 80, 1);
	add(&list, 20, 30, 2);
	add(&list, 40, 60, 1); /* touches the next */
	add(&list, 10, 40, 1);
	add(&list, 15, 20, 1); /* lies within the one before */
	intervals_join(&list);
	return list;
}

TEST(those_that_overlap_or_touch_become_one)
{
	struct intervals list = joined();

	CHECK_EQ(list.count, 3);
	check(&list.data[0], 10, 60, 1);
	check(&list.data[1], 70, 80, 1);
	check(&list.data[2], 20, 30, 2);
	vec_free(&list);
	intervals_join(&list);
	CHECK_EQ(list.count, 0);
}

TEST(the_hull_of_what_overlaps_is_found)
{
	struct intervals list = joined();
	struct interval at = intervals_around(&list, (struct interval){50, 71, 1});

	check(&at, 10, 80, 1);
	at = intervals_around(&list, (struct interval){60, 70, 1});
	check(&at, 0, 0, 1);
	at = intervals_around(&list, (struct interval){0, 100, 2});
	check(&at, 20, 30, 2);
	at = intervals_around(&list, (struct interval){0, 100, 3});
	check(&at, 0, 0, 3);
	vec_free(&list);
}

TEST(an_instant_lies_in_the_middle_of_an_interval)
{
	struct intervals list = joined();
	struct interval at = intervals_around(&list, (struct interval){25, 25, 2});

	check(&at, 20, 30, 2);
	at = intervals_around(&list, (struct interval){20, 20, 2});
	CHECK_EQ(at.end_ns, 0);
	at = intervals_around(&list, (struct interval){30, 30, 2});
	CHECK_EQ(at.end_ns, 0);
	vec_free(&list);
}

TEST_MAIN()
