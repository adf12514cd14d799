/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>

#include "tests/unit/check.h"

struct pair {
	int a, b;
};

TEST(grows_and_keeps_what_it_has)
{
	VEC(struct pair) v = {0};

	for (int i = 0; i < 1000; i++)
		CHECK_EQ(vec_push(&v, (struct pair){i, -i}), 0);
	CHECK_EQ(v.count, 1000);
	for (int i = 0; i < 1000; i++)
		CHECK(v.data[i].a == i && v.data[i].b == -i);
	vec_free(&v);
	CHECK(!v.data && v.count == 0 && v.capacity == 0);
}

TEST(room_that_cannot_be_is_refused)
{
	VEC(struct pair) v = {0};

	CHECK_EQ(vec_push(&v, (struct pair){1, 2}), 0);
	CHECK_EQ(vec_reserve(&v, SIZE_MAX / 4), -ENOMEM);
	CHECK_EQ(vec_reserve(&v, SIZE_MAX), -ENOMEM);
	CHECK_EQ(v.count, 1);
	CHECK_EQ(v.data[0].b, 2);
	CHECK_EQ(vec_reserve(&v, 100), 0);
	CHECK(v.capacity >= 101);
	vec_free(&v);
}

TEST(all_move_behind_those_that_are_there)
{
	VEC(struct pair) a = {0}, b = {0};
	struct pair *was;

	CHECK_EQ(vec_move(&a, &b), 0);
	CHECK_EQ(a.count + b.count, 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(vec_push(&b, (struct pair){i, 1}), 0);
	was = b.data;
	CHECK_EQ(vec_move(&a, &b), 0);
	CHECK(a.data == was && a.count == 100 && b.count == 0);
	CHECK_EQ(vec_move(&a, &b), 0);
	CHECK_EQ(a.count, 100);
	for (int i = 100; i < 1000; i++)
		CHECK_EQ(vec_push(&b, (struct pair){i, 2}), 0);
	CHECK_EQ(vec_move(&a, &b), 0);
	CHECK(a.count == 1000 && b.count == 0);
	for (int i = 0; i < 1000; i++)
		CHECK(a.data[i].a == i && a.data[i].b == 1 + (i >= 100));
	vec_free(&a);
	vec_free(&b);
}

TEST_MAIN()
