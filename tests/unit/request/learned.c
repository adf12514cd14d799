/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of what services do: they add up in any order and grouping. */
#include "request/learned.h"

#include "check.h"

/* A key with a number of its own in one of its fields. */
static struct learned_key key_number(u32 number)
{
	return (struct learned_key){.service = 1 + number % 3,
				    .peer = number / 3,
				    .nth = (u16)(number % 7),
				    .kind = LEARNED_CALLS,
				    .backward = number % 2};
}

static bool same(const struct learned *a, const struct learned *b)
{
	return a->rows.count == b->rows.count &&
	       memcmp(a->rows.data, b->rows.data, a->rows.count * sizeof(*a->rows.data)) == 0;
}

TEST(counts_by_key)
{
	struct learned l = {0};
	struct learned_key absent = key_number(5000);

	for (u32 i = 0; i < 3000; i++) {
		struct learned_key key = key_number(i % 1000);

		CHECK_EQ(learned_add(&l, &key, i % 1000), 0);
	}
	CHECK_EQ(l.rows.count, 1000);
	for (u32 i = 0; i < 1000; i++) {
		struct learned_key key = key_number(i);

		CHECK_EQ(learned_count(&l, &key), 3 * i);
	}
	CHECK_EQ(learned_count(&l, &absent), 0);
	learned_free(&l);
	CHECK_EQ(learned_count(&l, &absent), 0);
}

TEST(is_the_same_in_any_order_and_grouping)
{
	struct learned whole = {0}, left = {0}, right = {0};

	for (u32 i = 0; i < 2000; i++) {
		struct learned_key key = key_number(i * 7 % 300), other = key_number(i * 11 % 300);

		CHECK_EQ(learned_add(&whole, &key, i), 0);
		CHECK_EQ(learned_add(&whole, &other, 1), 0);
		CHECK_EQ(learned_add(i % 5 ? &left : &right, &key, i), 0);
		CHECK_EQ(learned_add(i % 3 ? &right : &left, &other, 1), 0);
	}
	CHECK_EQ(learned_merge(&right, &left), 0);
	learned_sort(&whole);
	learned_sort(&right);
	CHECK(same(&whole, &right));
	/* a sorted table is asked and grows as before */
	CHECK_EQ(learned_merge(&right, &whole), 0);
	CHECK_EQ(right.rows.count, whole.rows.count);
	for (size_t i = 0; i < whole.rows.count; i++)
		CHECK_EQ(learned_count(&right, &whole.rows.data[i].key),
			 2 * whole.rows.data[i].count);
	learned_free(&whole);
	learned_free(&left);
	learned_free(&right);
}

TEST(rows_of_a_service_stand_together)
{
	struct learned l = {0};
	size_t all = 0;

	for (u32 i = 0; i < 500; i++) {
		struct learned_key key = key_number(i);

		CHECK_EQ(learned_add(&l, &key, 1), 0);
	}
	learned_sort(&l);
	for (int backward = 0; backward < 2; backward++) {
		for (u64 service = 0; service < 6; service++) {
			const struct learned_row *rows;
			size_t count = learned_of_service(&l, backward, service, &rows);

			CHECK_EQ(count > 0, service >= 1 && service <= 3);
			for (size_t i = 0; i < count; i++)
				CHECK(rows[i].key.service == service &&
				      rows[i].key.backward == backward);
			all += count;
		}
	}
	CHECK_EQ(all, l.rows.count);
	learned_free(&l);
}

TEST(is_empty_at_first)
{
	struct learned a = {0}, b = {0};

	CHECK_EQ(learned_merge(&a, &b), 0);
	learned_sort(&a);
	CHECK_EQ(a.rows.count, 0);
	learned_free(&a);
}

TEST_MAIN()
