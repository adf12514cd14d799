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

TEST_MAIN()
