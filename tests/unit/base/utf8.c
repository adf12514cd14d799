/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "tests/unit/check.h"

#define CLEAN(text) clean(text, sizeof(text) - 1)

static const char *clean(const char *text, size_t bytes)
{
	static char to[100];

	CHECK_EQ(utf8_clean(to, text, bytes), strlen(to));
	return to;
}

TEST(valid_text_stays)
{
	CHECK_STR(CLEAN(""), "");
	CHECK_STR(CLEAN("shop"), "shop");
	CHECK_STR(CLEAN("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(what_is_cut_or_has_a_nul_is_not_clean)
{
	CHECK(utf8_is_clean("", 0));
	CHECK(utf8_is_clean("caf\xc3\xa9", 5));
	CHECK(!utf8_is_clean("caf\xc3\xa9", 4));
	CHECK(!utf8_is_clean("a\0b", 3));
}

TEST(what_is_invalid_is_replaced_byte_by_byte)
{
	CHECK_STR(CLEAN("a\xff"
			"b"),
		  "a\xef\xbf\xbd"
		  "b");
	CHECK_STR(CLEAN("a\0b"), "a\xef\xbf\xbd"
				 "b");
	CHECK_STR(CLEAN("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");		  /* overlong */
	CHECK_STR(CLEAN("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	CHECK_STR(CLEAN("x\xe2\x82"), "x\xef\xbf\xbd\xef\xbf\xbd");		  /* cut */
}

TEST_MAIN()
