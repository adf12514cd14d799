/* SPDX-License-Identifier: Apache-2.0 */
#include "base/group_sort.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "tests/unit/check.h"

struct thing {
	uint64_t owner, of_it;
	uint32_t time;
	uint32_t came; /* no part of the order */
};

static struct group_key thing_key(const void *element)
{
	const struct thing *t = element;

	return (struct group_key){t->owner, t->of_it};
}

static int thing_compare(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->of_it != y->of_it)
		return x->of_it < y->of_it ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static const struct group_order by_owner = {sizeof(struct thing), thing_key, thing_compare};

/* `late` of 100 elements are older than the one before them. */
static void sorts(uint32_t count, uint32_t owners, uint32_t late)
{
	VEC(struct thing) v = {0};
	unsigned char *seen = calloc(count + 1, 1);

	CHECK(seen);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t random = hash_u64(i + 1);
		struct thing t = {.owner = random % owners << 40,
				  .of_it = random >> 20 & 1,
				  .time = i / 3,
				  .came = i};

		if (random >> 32 & 255 && (random >> 40) % 100 < late)
			t.time = (uint32_t)(random >> 44) % (t.time + 1);
		CHECK_EQ(vec_push(&v, t), 0);
	}
	CHECK_EQ(vec_group_sort(&v, &by_owner), 0);
	CHECK_EQ(v.count, count);
	CHECK(v.capacity >= count);
	for (uint32_t i = 0; i < count; i++) {
		CHECK(i == 0 || thing_compare(&v.data[i - 1], &v.data[i]) <= 0);
		CHECK(v.data[i].came < count && !seen[v.data[i].came]++);
	}
	vec_free(&v);
	free(seen);
}

TEST(few_or_no_elements)
{
	sorts(0, 1, 0);
	sorts(1, 1, 0);
	sorts(2, 2, 50);
	sorts(100, 7, 50);
}

TEST(groups_that_come_in_order)
{
	sorts(5000, 1, 0);
	sorts(5000, 2, 0);
	sorts(100000, 700, 0);
}

TEST(groups_that_do_not)
{
	sorts(5000, 3, 1);
	sorts(50000, 40, 30);
	sorts(50000, 2, 100);
}

TEST(as_many_groups_as_elements)
{
	sorts(1000, 100000, 10);
	sorts(50000, 1u << 20, 10);
	sorts(50000, 20000, 10);
}

TEST(more_can_follow)
{
	VEC(struct thing) v = {0};

	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(vec_push(&v, (struct thing){.owner = 1000 - i % 10}), 0);
	CHECK_EQ(vec_group_sort(&v, &by_owner), 0);
	CHECK_EQ(vec_push(&v, (struct thing){.owner = 7}), 0);
	CHECK_EQ(v.data[0].owner, 991);
	CHECK_EQ(v.data[999].owner, 1000);
	CHECK_EQ(v.data[1000].owner, 7);
	vec_free(&v);
}

TEST_MAIN()
