/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bar.h"

#include "base/hash.h"
#include "tests/unit/check.h"

TEST(nothing_has_no_cells)
{
	struct split none = {0};
	int parts[SPLIT_PARTS_COUNT];

	bar_apportion(&none, 20, parts);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		CHECK_EQ(parts[i], 0);
}

TEST(cells_always_sum_up)
{
	uint64_t random = 7;

	for (int round = 0; round < 2000; round++) {
		struct split split = {0};
		int parts[SPLIT_PARTS_COUNT];
		int cells = 1 + round % 60, sum = 0;

		for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
			random = hash_u64(random + 1);
			split.ns[i] = (s64)(random >> (4 + (random & 47)));
		}
		bar_apportion(&split, cells, parts);
		for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
			long double exact = (long double)split.ns[i] * cells / split_total(&split);

			CHECK(parts[i] > exact - 1.0001L && parts[i] < exact + 1.0001L);
			sum += parts[i];
		}
		CHECK_EQ(sum, cells);
	}
}

TEST(the_first_of_equals_gets_the_rest)
{
	struct split split = {.ns = {[SPLIT_user] = 1, [SPLIT_disk] = 1, [SPLIT_lock] = 1}};
	int parts[SPLIT_PARTS_COUNT];

	bar_apportion(&split, 10, parts);
	CHECK_EQ(parts[SPLIT_user], 4);
	CHECK_EQ(parts[SPLIT_disk], 3);
	CHECK_EQ(parts[SPLIT_lock], 3);
}

/* Sums of hostile traces wrap around; the bar still has its length. */
TEST(parts_that_wrapped_have_no_more_cells)
{
	struct split split = {.ns = {INT64_MAX, INT64_MAX, 3}};
	int parts[SPLIT_PARTS_COUNT], sum = 0;

	CHECK_EQ(split_total(&split), 1);
	bar_apportion(&split, 20, parts);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		CHECK(parts[i] >= 0 && parts[i] <= 20);
		sum += parts[i];
	}
	CHECK_EQ(sum, 20);
	CHECK_EQ(parts[0], 10);
}

TEST_MAIN()
