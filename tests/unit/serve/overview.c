/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/own.h"

#include "tests/unit/check.h"

#define STEP_NS UINT64_C(10000000000)
#define FROM_NS UINT64_C(1790000000000000000)

/* Holds the first part of steps with so many spans against the wanted seconds; -1: too little. */
static void expect(const uint64_t *counts, size_t count, int from, int to)
{
	const struct own_steps steps = {FROM_NS, FROM_NS + count * STEP_NS, STEP_NS, count};
	struct store_sum sums[20] = {0};
	struct store_range part;
	bool found;

	for (size_t i = 0; i < count; i++) {
		sums[i].service = "shop";
		sums[i].operation = "a";
		sums[i].begin_ns = FROM_NS + i * STEP_NS;
		sums[i].count = 100 * counts[i];
		sums[i].seen = counts[i];
	}
	found = own_first_part(&(struct store_sums){sums, count, count}, &steps, &part);
	CHECK(found == (to >= 0));
	if (found)
		CHECK(part.from_ns == FROM_NS + (uint64_t)from * UINT64_C(1000000000) &&
		      part.to_ns == FROM_NS + (uint64_t)to * UINT64_C(1000000000));
}

TEST(the_first_part_of_a_young_store_is_a_fifth_of_it_with_enough_requests)
{
	uint64_t many[20];

	for (size_t i = 0; i < 20; i++)
		many[i] = 90;
	expect((const uint64_t[]){0, 0, 0}, 3, 0, -1);
	expect((const uint64_t[]){0, 0, 90}, 3, 0, -1); /* nothing follows */
	expect((const uint64_t[]){0, 90, 90}, 3, 10, 20);
	expect((const uint64_t[]){5, 90, 90}, 3, 0, 20);
	expect(many, 20, 0, 40);
}

TEST_MAIN()
