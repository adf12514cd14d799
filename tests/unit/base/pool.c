/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <stdint.h>

#include "base/quota.h"
#include "tests/unit/check.h"

TEST(pieces_are_zeroed_aligned_and_apart)
{
	struct pool a = {0};
	unsigned char *last = NULL;

	for (size_t i = 1; i < 3000; i += 7) {
		unsigned char *piece = pool_alloc(&a, i, 3);

		CHECK(piece != NULL);
		CHECK_EQ((uintptr_t)piece % 16, 0);
		for (size_t k = 0; k < 3 * i; k++)
			CHECK_EQ(piece[k], 0);
		memset(piece, 0xff, 3 * i);
		CHECK(!last || *last == 0xff);
		last = piece;
	}
	pool_free(&a);
	CHECK_EQ(a.bytes, 0);
}

TEST(memory_is_used_again_after_a_reset)
{
	struct pool a = {0};
	size_t bytes;

	CHECK(pool_alloc(&a, 10, 10));
	bytes = a.bytes;
	for (int i = 0; i < 1000; i++) {
		CHECK(pool_alloc(&a, 1000, 10));
		pool_reset(&a);
	}
	CHECK_EQ(a.bytes, bytes);
	pool_free(&a);
}

TEST(a_limit_holds)
{
	struct pool a = {.limit_bytes = 1 << 20};

	CHECK(!pool_alloc(&a, SIZE_MAX / 2, 4));
	CHECK(!pool_alloc(&a, 2 << 20, 1));
	CHECK(pool_alloc(&a, 1 << 19, 1));
	CHECK(!pool_alloc(&a, (1 << 19) + 1, 1));
	CHECK(a.bytes <= 1 << 20);
	pool_free(&a);
}

TEST(pools_share_a_quota)
{
	struct quota quota = {.limit_bytes = 200000};
	struct pool a = {.quota = &quota}, b = {.quota = &quota};

	CHECK(pool_alloc(&a, 1, 100000));
	CHECK(pool_alloc(&b, 1, 70000));
	CHECK(!pool_alloc(&b, 1, 100000));
	CHECK(!pool_alloc(&b, 1, 1000000));
	pool_free(&a);
	CHECK(pool_alloc(&b, 1, 100000));
	pool_reset(&b);
	CHECK(quota.used <= 100000);
	pool_free(&b);
	CHECK_EQ(quota.used, 0);
}

TEST_MAIN()
