/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_reader.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/check.h"

/* 0 if the text is a document, from memory of just its size. */
static int document_read(const char *text, size_t bytes)
{
	char *copy = malloc(bytes ? bytes : 1);
	struct json_reader r;
	int err;

	memcpy(copy, text, bytes);
	json_reader_init(&r, copy, bytes, 8);
	json_skip(&r);
	err = json_finish(&r);
	CHECK_EQ(err != 0, r.wrong != NULL);
	free(copy);
	return err;
}

static bool is_json(const char *text)
{
	return document_read(text, strlen(text)) == 0;
}

TEST(documents_are_taken)
{
	static const char *const good[] = {"0",
					   "-0",
					   "1.5e-3",
					   "12E+4",
					   "true",
					   "null",
					   " [ ] ",
					   "{}",
					   "\"\"",
					   "[1,2]",
					   "\"\\u00e9\\n\\/\"",
					   "{\"a\":[{\"b\":null},false]}",
					   "\"\xc3\xa9\"",
					   "[[[[[[[[1]]]]]]]]",
					   "{\"a\":1,\"a\":2}",
					   "\"0123456789\\\"abcdefgh\""};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (!is_json(good[i]))
			CHECK_FAIL("refused: %s", good[i]);
	}
}

TEST(what_is_no_json_is_refused)
{
	static const char *const bad[] = {"",
					  "01",
					  "+1",
					  "1.",
					  ".5",
					  "1e",
					  "-",
					  "tru",
					  "nul",
					  "[1,]",
					  "[,1]",
					  "{,}",
					  "{\"a\"}",
					  "[1 2]",
					  "{1:2}",
					  "\"",
					  "\"\\\"",
					  "\"\\x\"",
					  "\"\\u12g4\"",
					  "\"\\u123",
					  "\"a\nb\"",
					  "\"\xff\"",
					  "\"\xc0\x80\"",
					  "\"\xed\xa0\x80\"",
					  "[}",
					  "[",
					  "{\"a\":",
					  "1 1",
					  "{\"a\":1,}",
					  "'a'",
					  "[[[[[[[[[1]]]]]]]]]",
					  "NaN",
					  "\"01234567\t\""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (is_json(bad[i]))
			CHECK_FAIL("taken: %s", bad[i]);
	}
	CHECK(document_read("\"a\0b\"", 5) != 0);
	CHECK(document_read("1\0", 2) != 0);
}

TEST(a_document_that_is_cut_is_refused)
{
	static const char text[] =
		"{\"key\":[1.5,\"text\\u00e9 that is long\",{\"a\":true}],\"b\":null}";

	for (size_t cut = 0; cut < sizeof(text) - 1; cut++)
		CHECK_EQ(document_read(text, cut), -EPROTO);
	CHECK_EQ(document_read(text, sizeof(text) - 1), 0);
}

TEST(values_are_pulled)
{
	static const char text[] =
		"{\"name\":\"x\", \"other\":[{}], \"list\":[1, -2], \"on\":true}";
	struct json_text key, name = {0}, number;
	int64_t list[3] = {0};
	struct json_reader r;
	bool on = false;
	int count = 0;

	json_reader_init(&r, text, sizeof(text) - 1, 8);
	json_object_enter(&r);
	while (json_key_next(&r, &key)) {
		if (json_text_is(key, "name")) {
			json_string_read(&r, &name);
		} else if (json_text_is(key, "list")) {
			json_array_enter(&r);
			while (json_item_next(&r) && count < 3) {
				json_number_read(&r, &number);
				CHECK(json_text_s64(number, &list[count++]));
			}
		} else if (json_text_is(key, "on")) {
			on = json_boolean_read(&r);
		} else {
			json_skip(&r);
		}
	}
	CHECK_EQ(json_finish(&r), 0);
	CHECK(json_text_is(name, "x") && on);
	CHECK(count == 2 && list[0] == 1 && list[1] == -2);
}

TEST(another_type_fails_and_ends_loops)
{
	struct json_reader r;
	struct json_text text;

	json_reader_init(&r, "[1]", 3, 8);
	json_array_enter(&r);
	CHECK(json_item_next(&r));
	json_string_read(&r, &text);
	CHECK_EQ(text.bytes, 0);
	CHECK_STR(r.wrong, "a string belongs here");
	CHECK(!json_item_next(&r));
	CHECK_EQ(json_peek(&r), JSON_FAILED);
	CHECK_EQ(json_finish(&r), -EPROTO);
}

static void decodes(const char *text, const char *wanted)
{
	struct json_reader r;
	struct json_text raw;
	char to[64];
	size_t n;

	json_reader_init(&r, text, strlen(text), 1);
	json_string_read(&r, &raw);
	CHECK_EQ(json_finish(&r), 0);
	n = json_text_decode(raw, to);
	CHECK(n <= raw.bytes);
	to[n] = '\0';
	CHECK_STR(to, wanted);
}

TEST(escapes_are_decoded)
{
	decodes("\"plain\"", "plain");
	decodes("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
	decodes("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac");
	decodes("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
	decodes("\"\\ud83d.\\ude00\"", "\xef\xbf\xbd.\xef\xbf\xbd");
	decodes("\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
				      "A");
	decodes("\"a\\u0000b\"", "a\xef\xbf\xbd"
				 "b");
}

static struct json_text text_of(const char *text)
{
	return (struct json_text){text, strlen(text), false};
}

TEST(numbers_keep_64_bits)
{
	static const char *const bad[] = {"",  "-",  "18446744073709551616", "1.5", "-1", "1e20",
					  "x", "0x1"};
	uint64_t u;
	int64_t s;
	double d;

	CHECK(json_text_u64(text_of("18446744073709551615"), &u) && u == UINT64_MAX);
	CHECK(json_text_u64(text_of("1e3"), &u) && u == 1000);
	CHECK(json_text_u64(text_of("5.0"), &u) && u == 5);
	CHECK(json_text_s64(text_of("-9223372036854775808"), &s) && s == INT64_MIN);
	CHECK(json_text_s64(text_of("9223372036854775807"), &s) && s == INT64_MAX);
	CHECK(!json_text_s64(text_of("9223372036854775808"), &s));
	CHECK(!json_text_s64(text_of("--1"), &s));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (json_text_u64(text_of(bad[i]), &u))
			CHECK_FAIL("taken: %s", bad[i]);
	}
	CHECK(json_text_double(text_of("-2.5e1"), &d) && d == -25);
	CHECK(json_text_double(text_of("-Infinity"), &d) && isinf(d) && d < 0);
	CHECK(json_text_double(text_of("NaN"), &d) && isnan(d));
	CHECK(!json_text_double(text_of("inf"), &d));
}

TEST_MAIN()
