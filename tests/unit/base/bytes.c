/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include "tests/unit/check.h"

TEST(what_is_written_reads_back)
{
	static const int64_t numbers[] = {0, 1, -1, 63, -64, 64, 300, INT64_MAX, INT64_MIN};
	struct bytes b = {0};
	struct bytes_reader r;

	bytes_put_u8(&b, 200);
	bytes_put_u32(&b, 0xdeadbeef);
	bytes_put_u64(&b, UINT64_MAX - 1);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bytes_put_svarint(&b, numbers[i]);
		bytes_put_varint(&b, (uint64_t)numbers[i]);
	}
	CHECK(!b.failed);

	r = bytes_reader_over(b.data, b.count);
	CHECK_EQ(bytes_get_u8(&r), 200);
	CHECK_EQ(bytes_get_u32(&r), 0xdeadbeef);
	CHECK_EQ(bytes_get_u64(&r), UINT64_MAX - 1);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		CHECK_EQ(bytes_get_svarint(&r), numbers[i]);
		CHECK_EQ(bytes_get_varint(&r), (uint64_t)numbers[i]);
	}
	CHECK(r.at == r.end && !r.failed);
	CHECK_EQ(bytes_get_u8(&r), 0);
	CHECK(r.failed);
	bytes_free(&b);
}

TEST(fixed_numbers_are_little_endian)
{
	struct bytes b = {0};

	bytes_put_u32(&b, 0x01020304);
	bytes_put_varint(&b, 300);
	CHECK_EQ(b.count, 6);
	CHECK_MEM(b.data, "\x04\x03\x02\x01\xac\x02", 6);
	bytes_free(&b);
}

TEST(damage_is_refused)
{
	static const unsigned char endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
						0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	static const unsigned char too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff,
						  0xff, 0xff, 0xff, 0xff, 0x02};
	struct bytes_reader r = bytes_reader_over(endless, sizeof(endless));

	CHECK_EQ(bytes_get_varint(&r), 0);
	CHECK(r.failed);
	r = bytes_reader_over(too_large, sizeof(too_large));
	CHECK_EQ(bytes_get_varint(&r), 0);
	CHECK(r.failed);
}

TEST_MAIN()
