/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include "tests/unit/check.h"

TEST(crc32c_is_the_known_one)
{
	unsigned char zeros[32] = {0};

	CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283);
	CHECK_EQ(crc32c(0, zeros, 32), 0x8a9136aa);
	CHECK_EQ(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

/* Long ones are summed in lanes. */
TEST(crc32c_of_parts_is_that_of_the_whole)
{
	static unsigned char bytes[20000];
	uint64_t state = 7;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)((state = state * 6364136223846793005u + 1) >> 56);
	for (size_t len = 3000; len < sizeof(bytes) - 8; len += 611) {
		const unsigned char *at = bytes + len % 8;
		uint32_t crc = 0;

		for (size_t i = 0; i < len; i += 100)
			crc = crc32c(crc, at + i, len - i < 100 ? len - i : 100);
		CHECK_EQ(crc32c(0, at, len), crc);
		CHECK_EQ(crc32c(7, at, len), crc ^ crc32c_moved(7, len));
	}
}

TEST_MAIN()
