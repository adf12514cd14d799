/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <errno.h>

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

TEST(merges_in_any_grouping_to_the_same_bytes)
{
	struct histogram whole = {0}, a = {0}, b = {0}, c = {0}, none = {0};
	struct bytes one = {0}, other = {0};

	add_range(&whole, 0, 9000);
	add_range(&a, 0, 10);
	add_range(&b, 10, 7000);
	add_range(&c, 7000, 9000);
	CHECK_EQ(histogram_merge(&c, &a), 0);
	CHECK_EQ(histogram_merge(&b, &none), 0);
	CHECK_EQ(histogram_merge(&none, &b), 0);
	CHECK_EQ(histogram_merge(&none, &c), 0);
	histogram_write(&whole, &one);
	histogram_write(&none, &other);
	CHECK_EQ(one.count, other.count);
	CHECK_MEM(one.data, other.data, one.count);
	CHECK_EQ(histogram_percentile(&whole, 9900), histogram_percentile(&none, 9900));
	bytes_free(&one);
	bytes_free(&other);
	histogram_free(&whole);
	histogram_free(&a);
	histogram_free(&b);
	histogram_free(&c);
	histogram_free(&none);
}

TEST(reads_what_it_wrote_and_refuses_damage)
{
	struct histogram h = {0}, copy = {0};
	struct bytes out = {0}, again = {0};
	struct bytes_reader in;

	add_range(&h, 0, 300);
	histogram_write(&h, &out);
	in = bytes_reader_over(out.data, out.count);
	CHECK_EQ(histogram_read(&copy, &in), 0);
	CHECK(in.at == in.end);
	histogram_write(&copy, &again);
	CHECK_EQ(again.count, out.count);
	CHECK_MEM(again.data, out.data, out.count);
	histogram_free(&copy);
	for (size_t len = 0; len < out.count; len++) {
		in = bytes_reader_over(out.data, len);
		CHECK_EQ(histogram_read(&copy, &in), -EBADMSG);
		CHECK(!copy.data);
	}
	for (size_t i = 0; i < out.count; i++) {
		out.data[i] ^= 0x55; /* whatever it becomes, it must be consistent or refused */
		in = bytes_reader_over(out.data, out.count);
		if (histogram_read(&copy, &in) == 0)
			CHECK(copy.min <= copy.max && copy.values >= copy.count);
		histogram_free(&copy);
		out.data[i] ^= 0x55;
	}
	bytes_free(&out);
	bytes_free(&again);
	histogram_free(&h);
}

TEST_MAIN()
