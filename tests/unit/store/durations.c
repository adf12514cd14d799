/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durations.h"

#include <errno.h>

#include "tests/unit/check.h"

/* Numbers of all sizes, the same in each run. */
static uint64_t number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state ^ *state >> 29) >> (*state >> 58);
}

TEST(a_quantile_is_at_most_1_6_percent_above_the_value)
{
	uint64_t state = 1;

	for (int i = 0; i < 10000; i++) {
		struct durations d = {0};
		uint64_t value = number(&state), found;

		CHECK_EQ(durations_add(&d, value, 1), 0);
		found = durations_quantile(&d, 5000);
		CHECK(found >= value);
		CHECK(found - value <= value / 64);
		durations_free(&d);
	}
}

TEST(quantiles_count_values)
{
	struct durations d = {0};

	CHECK_EQ(durations_quantile(&d, 9900), 0);
	for (uint64_t i = 1; i <= 100; i++)
		CHECK_EQ(durations_add(&d, i, 1), 0);
	CHECK_EQ(durations_quantile(&d, 5000), 50);
	CHECK_EQ(durations_quantile(&d, 9900), 99);
	CHECK_EQ(durations_quantile(&d, 10000), 100);
	CHECK_EQ(durations_below(&d, 30), 30);
	CHECK_EQ(durations_below(&d, UINT64_MAX), 100);
	CHECK_EQ(durations_add(&d, UINT64_MAX, 1), 0);
	CHECK_EQ(durations_quantile(&d, 10000), UINT64_MAX);
	durations_free(&d);
}

static void fill(struct durations *d, uint64_t seed, int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQ(durations_add(d, number(&seed), 1), 0);
}

static void equal(const struct durations *a, const struct durations *b)
{
	struct bytes x = {0}, y = {0};

	durations_put(&x, a);
	durations_put(&y, b);
	CHECK_EQ(x.count, y.count);
	CHECK_MEM(x.data, y.data, x.count);
	bytes_free(&x);
	bytes_free(&y);
}

TEST(merging_written_ones_in_any_order_is_the_whole)
{
	struct durations whole = {0}, parts[3] = {{0}}, left = {0}, right = {0};

	for (int i = 0; i < 3; i++) {
		fill(&whole, (uint64_t)i, 500);
		fill(&parts[i], (uint64_t)i, 500);
	}
	for (int i = 0; i < 3; i++) {
		struct bytes text = {0};

		CHECK_EQ(durations_merge(&left, &parts[i]), 0);
		durations_put(&text, &parts[2 - i]);
		CHECK_EQ(durations_get(text.data, text.count, &right), 0);
		bytes_free(&text);
	}
	equal(&left, &whole);
	equal(&right, &whole);
	for (int i = 0; i < 3; i++)
		durations_free(&parts[i]);
	durations_free(&whole);
	durations_free(&left);
	durations_free(&right);
}

TEST(a_value_can_be_taken_out_before_it_is_merged)
{
	struct durations d = {0}, later = {0};

	CHECK_EQ(durations_add(&later, 700, -1), 0);
	CHECK_EQ(durations_add(&later, 900, 1), 0);
	CHECK_EQ(durations_add(&d, 700, 1), 0);
	CHECK_EQ(durations_merge(&d, &later), 0);
	CHECK_EQ(durations_below(&d, UINT64_MAX), 1);
	CHECK(durations_quantile(&d, 5000) >= 900);
	durations_free(&d);
	durations_free(&later);
}

TEST(damaged_bytes_are_refused)
{
	static const unsigned char far[] = {0xff, 0xff, 0x7f, 2}, cut[] = {5};
	struct durations d = {0};

	CHECK_EQ(durations_get(far, sizeof(far), &d), -EINVAL);
	CHECK_EQ(durations_get(cut, sizeof(cut), &d), -EINVAL);
	durations_free(&d);
}

TEST_MAIN()
