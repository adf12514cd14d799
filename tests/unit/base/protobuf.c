/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

#include "tests/unit/check.h"

static int next(const char *data, size_t len, struct protobuf_field *field)
{
	char *copy = malloc(len + 1); /* so that a sanitizer sees a read beyond the end */
	struct protobuf_bytes from;
	int more;

	memcpy(copy, data, len);
	copy = realloc(copy, len ? len : 1);
	from = (struct protobuf_bytes){copy, len};
	more = protobuf_next(&from, field);
	CHECK(more != 1 || from.len == 0);
	free(copy);
	return more;
}

TEST(each_type_has_its_value)
{
	struct protobuf_field field;

	CHECK_EQ(next("\x08\x96\x01", 3, &field), 1);
	CHECK_EQ(field.number, 1);
	CHECK_EQ(field.value, 150);
	CHECK_EQ(next("\x39\x01\x02\x03\x04\x05\x06\x07\x88", 9, &field), 1);
	CHECK_EQ(field.number, 7);
	CHECK(field.value == 0x8807060504030201u);
	CHECK_EQ(next("\x15\xff\x00\x00\x80", 5, &field), 1);
	CHECK(field.value == 0x800000ffu);
	CHECK_EQ(next("\x12\x02hi", 4, &field), 1);
	CHECK_EQ(field.bytes.len, 2);
}

TEST(a_cut_field_is_malformed)
{
	static const char fixed64[] = "\x39\x01\x02\x03\x04\x05\x06\x07\x88", text[] = "\x12\x02hi";
	struct protobuf_field field;

	CHECK_EQ(next("", 0, &field), 0);
	for (size_t len = 1; len < 9; len++)
		CHECK_EQ(next(fixed64, len, &field), -EPROTO);
	for (size_t len = 1; len < 4; len++)
		CHECK_EQ(next(text, len, &field), -EPROTO);
	CHECK_EQ(next("\x0b", 1, &field), -EPROTO);	/* a group */
	CHECK_EQ(next("\x00\x01", 2, &field), -EPROTO); /* field 0 */
}

TEST_MAIN()
