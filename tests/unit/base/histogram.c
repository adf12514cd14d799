/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tests/unit/check.h"

TEST(small_values_are_exact)
{
	struct histogram h = {0};

	CHECK_EQ(histogram_percentile(&h, 5000), 0);
	for (uint64_t v = 1; v <= 1000; v++)
		CHECK_EQ(histogram_add(&h, v, 1), 0);
	CHECK_EQ(h.values, 1000);
	CHECK_EQ(h.min, 1);
	CHECK_EQ(h.max, 1000);
	CHECK_EQ(histogram_percentile(&h, 0), 1);
	CHECK_EQ(histogram_percentile(&h, 5000), 500);
	CHECK_EQ(histogram_percentile(&h, 9500), 950);
	CHECK_EQ(histogram_percentile(&h, 9900), 990);
	CHECK_EQ(histogram_percentile(&h, 9999), 1000);
	CHECK_EQ(histogram_percentile(&h, 10000), 1000);
	histogram_free(&h);
}

TEST(large_values_are_close)
{
	for (int shift = 0; shift < 64; shift++) {
		for (int64_t off = -1; off <= 1; off++) {
			uint64_t value = (1ull << shift) + (uint64_t)off;
			struct histogram h = {0};
			uint64_t p;

			CHECK_EQ(histogram_add(&h, value, 1), 0);
			CHECK_EQ(histogram_percentile(&h, 5000), value);
			CHECK_EQ(histogram_add(&h, UINT64_MAX, 1), 0);
			p = histogram_percentile(&h, 5000);
			CHECK(p >= value && p - value <= value / 1024);
			histogram_free(&h);
		}
	}
}

static uint64_t random_value(uint64_t i)
{
	uint64_t x = hash_u64(i + 1);

	return x >> (x & 63);
}

static void add_range(struct histogram *h, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		CHECK_EQ(histogram_add(h, random_value(i), 1 + i % 3), 0);
}

static void check_same(const struct histogram *a, const struct histogram *b)
{
	CHECK_EQ(a->values, b->values);
	CHECK_EQ(a->min, b->min);
	CHECK_EQ(a->max, b->max);
	for (unsigned int per_10000 = 0; per_10000 <= 10000; per_10000 += 7)
		CHECK_EQ(histogram_percentile(a, per_10000), histogram_percentile(b, per_10000));
}

/* Merges histograms of few and of many buckets, in all combinations. */
TEST(merges_in_any_grouping_to_the_same_answers)
{
	static const uint64_t cuts[][2] = {{10, 7000}, {20, 40}, {3000, 3010}, {8000, 8990}};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct histogram whole = {0}, a = {0}, b = {0}, c = {0}, none = {0};

		add_range(&whole, 0, 9000);
		add_range(&a, 0, cuts[i][0]);
		add_range(&b, cuts[i][0], cuts[i][1]);
		add_range(&c, cuts[i][1], 9000);
		CHECK_EQ(histogram_merge(&c, &a), 0);
		CHECK_EQ(histogram_merge(&b, &none), 0);
		CHECK_EQ(histogram_merge(&none, &b), 0);
		CHECK_EQ(histogram_merge(&none, &c), 0);
		check_same(&whole, &none);
		histogram_free(&whole);
		histogram_free(&a);
		histogram_free(&b);
		histogram_free(&c);
		histogram_free(&none);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Compares with the sorted values. */
TEST(every_percentile_is_close)
{
	enum { VALUES = 5000 };
	static uint64_t values[VALUES];
	struct histogram h = {0};

	for (size_t i = 0; i < VALUES; i++) {
		values[i] = random_value(i) >> 40;
		CHECK_EQ(histogram_add(&h, values[i], 1), 0);
	}
	qsort(values, VALUES, sizeof(values[0]), compare);
	for (unsigned int per_10000 = 1; per_10000 <= 10000; per_10000 += 3) {
		uint64_t exact = values[(per_10000 * VALUES + 9999) / 10000 - 1];
		uint64_t told = histogram_percentile(&h, per_10000);

		CHECK(told >= exact && told - exact <= exact / 1024);
	}
	histogram_free(&h);
}

TEST_MAIN()
