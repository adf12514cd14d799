/* SPDX-License-Identifier: Apache-2.0 */
#include "store/new_names.h"

#include "tests/unit/check.h"

static unsigned int taken(struct new_names *n, bool is_new_service, uint64_t now_ns)
{
	unsigned int count = 0;

	while (count < 1000 && new_names_take(n, is_new_service, now_ns))
		count++;
	return count;
}

TEST(the_last_tenth_is_for_new_services)
{
	struct new_names n = {.per_hour = 100};

	CHECK_EQ(taken(&n, false, 5), 90);
	CHECK_EQ(taken(&n, true, 5), 10);
	CHECK_EQ(taken(&n, true, 4 + NEW_NAMES_HOUR_NS), 0);
	CHECK_EQ(taken(&n, true, 5 + NEW_NAMES_HOUR_NS), 100);
}

TEST(what_is_abandoned_comes_again)
{
	struct new_names n = {.per_hour = 10};

	CHECK(new_names_take(&n, false, 5));
	new_names_committed(&n);
	CHECK_EQ(taken(&n, false, 5), 8);
	new_names_abandoned(&n);
	CHECK_EQ(taken(&n, false, 5), 8);
	CHECK_EQ(taken(&n, true, 5), 1);
}
TEST_MAIN()
