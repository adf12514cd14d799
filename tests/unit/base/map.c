/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>

#include "tests/unit/check.h"

#define KEYS 5000

static int values[KEYS];

TEST(an_empty_map_has_nothing)
{
	struct map m = {0};
	struct bytes_map b = {0};
	struct map_entry entry;
	size_t at = 0;

	CHECK(!map_get(&m, 1));
	CHECK(!map_remove(&m, 1));
	CHECK(!map_next(&m, &at, &entry));
	CHECK(!bytes_map_get(&b, "x", 1));
	CHECK(!bytes_map_remove(&b, "x", 1));
	map_free(&m);
	bytes_map_free(&b);
	CHECK_EQ(map_put(&m, 1, NULL), -EINVAL);
}

/* Puts and removes at random, and compares with a plain array. */
TEST(agrees_with_an_array)
{
	bool there[KEYS] = {false};
	struct map m = {0};
	uint64_t random = 1;
	size_t count = 0;

	for (int i = 0; i < 20 * KEYS; i++) {
		uint64_t key;

		random = hash_u64(random + 1);
		key = random % KEYS;
		if (random >> 63) {
			CHECK_EQ(map_put(&m, key, &values[key]), 0);
			there[key] = true;
		} else {
			CHECK(map_remove(&m, key) == (there[key] ? &values[key] : NULL));
			there[key] = false;
		}
	}
	for (int i = 0; i < KEYS; i++) {
		CHECK(map_get(&m, (uint64_t)i) == (there[i] ? &values[i] : NULL));
		count += there[i];
	}
	CHECK_EQ(m.count, count);
	map_free(&m);
}

TEST(walks_over_each_entry_once)
{
	bool seen[KEYS] = {false};
	struct map_entry entry;
	struct map m = {0};
	size_t at = 0, count = 0;

	for (int i = 0; i < KEYS; i++)
		CHECK_EQ(map_put(&m, (uint64_t)i, &values[i]), 0);
	while (map_next(&m, &at, &entry)) {
		CHECK(!seen[entry.key]);
		CHECK(entry.value == &values[entry.key]);
		seen[entry.key] = true;
		count++;
	}
	CHECK_EQ(count, KEYS);
	map_free(&m);
}

TEST(keys_of_bytes)
{
	struct bytes_map_entry entry;
	struct bytes_map m = {0};
	size_t at = 0, count = 0;
	char key[32];

	for (int i = 0; i < KEYS; i++) {
		int len = snprintf(key, sizeof(key), "key %d", i);

		CHECK_EQ(bytes_map_put(&m, key, (size_t)len, &values[i]), 0);
	}
	CHECK_EQ(bytes_map_put(&m, "", 0, &values[0]), 0);
	CHECK_EQ(bytes_map_put(&m, "a\0b", 3, &values[1]), 0);
	CHECK(bytes_map_get(&m, "", 0) == &values[0]);
	CHECK(bytes_map_get(&m, "a\0b", 3) == &values[1]);
	CHECK(!bytes_map_get(&m, "a\0c", 3));
	for (int i = 0; i < KEYS; i += 2) {
		int len = snprintf(key, sizeof(key), "key %d", i);

		CHECK(bytes_map_remove(&m, key, (size_t)len) == &values[i]);
	}
	for (int i = 0; i < KEYS; i++) {
		int len = snprintf(key, sizeof(key), "key %d", i);

		CHECK(bytes_map_get(&m, key, (size_t)len) == (i % 2 ? &values[i] : NULL));
	}
	while (bytes_map_next(&m, &at, &entry))
		count++;
	CHECK_EQ(count, KEYS / 2 + 2);
	CHECK_EQ(m.count, count);
	bytes_map_free(&m);
}

TEST(hashes_are_the_same_everywhere)
{
	CHECK_EQ(hash_u64(0), 0);
	CHECK(hash_pair(1, 2) != hash_pair(2, 1));
	CHECK(hash_bytes("ab", 2) != hash_bytes("ab\0", 3));
	CHECK(hash_bytes("abcdefghi", 9) == hash_bytes("abcdefghij", 9));
}

TEST_MAIN()
