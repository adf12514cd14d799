/* SPDX-License-Identifier: Apache-2.0 */
#include "span/attributes.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/check.h"

static struct pool pool;

static int append(void *arg, const char *data, size_t bytes)
{
	strncat(arg, data, bytes);
	return 0;
}

static const char *written(const struct attribute *a, size_t count, bool exact)
{
	static char text[4096];
	struct json_sink sink = {append, text};
	struct json j;

	text[0] = '\0';
	json_init(&j, &sink);
	if (exact)
		attributes_write_exact(&j, NULL, a, count);
	else
		attributes_write_json(&j, NULL, a, count);
	CHECK_EQ(json_end(&j), 0);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static const struct attribute inner[] = {{.type = VALUE_INTEGER, .integer = 1},
					 {.type = VALUE_STRING, .string = "x"}};
static const struct attribute pairs[] = {{.key = "k", .type = VALUE_NONE}};
static const struct attribute all[] = {
	{.key = "text", .type = VALUE_STRING, .string = "a \"b\" \\ \n caf\xc3\xa9"},
	{.key = "least", .type = VALUE_INTEGER, .integer = INT64_MIN},
	{.key = "whole", .type = VALUE_REAL, .real = 3.0},
	{.key = "small", .type = VALUE_REAL, .real = 1e-300},
	{.key = "nan", .type = VALUE_REAL, .real = NAN},
	{.key = "inf", .type = VALUE_REAL, .real = -INFINITY},
	{.key = "yes", .type = VALUE_BOOLEAN, .integer = 1},
	{.key = "bytes", .type = VALUE_BYTES, .string = "\0\xffz?", .count = 4},
	{.key = "array", .type = VALUE_ARRAY, .items = inner, .count = 2},
	{.key = "map", .type = VALUE_MAP, .items = pairs, .count = 1},
	{.key = "empty", .type = VALUE_ARRAY},
};
#define ALL (sizeof(all) / sizeof(*all))

TEST(readers_get_plain_json)
{
	CHECK_STR(written(all, ALL, false),
		  "{\"text\":\"a \\\"b\\\" \\\\ \\n caf\xc3\xa9\",\"least\":-9223372036854775808,"
		  "\"whole\":3.0,\"small\":1e-300,\"nan\":\"nan\",\"inf\":\"-inf\",\"yes\":true,"
		  "\"bytes\":\"AP96Pw==\",\"array\":[1,\"x\"],\"map\":{\"k\":null},\"empty\":[]}");
}

TEST(exact_text_comes_back_with_its_types)
{
	const struct attribute *back;
	size_t count;
	char text[4096];

	strcpy(text, written(all, ALL, true));
	CHECK_EQ(attributes_read(text, strlen(text), &pool, &back, &count), 0);
	CHECK_EQ(count, ALL);
	for (size_t i = 0; i < count; i++) {
		CHECK_STR(back[i].key, all[i].key);
		CHECK_EQ(back[i].type, all[i].type);
		CHECK_EQ(back[i].count, all[i].count);
	}
	CHECK(isnan(back[4].real));
	CHECK_MEM(back[7].string, all[7].string, 4);
	CHECK_STR(written(back, count, true), text);
}

TEST(escapes_are_read)
{
	static const char text[] = " { \"a\\u00e9\\ud83d\\ude00\\/\" : \"\\ud83dx\\u0000\" } ";
	const struct attribute *back;
	size_t count;

	CHECK_EQ(attributes_read(text, strlen(text), &pool, &back, &count), 0);
	CHECK_STR(back[0].key, "a\xc3\xa9\xf0\x9f\x98\x80/");
	CHECK_STR(back[0].string, "\xef\xbf\xbdx\xef\xbf\xbd");
}

TEST(what_is_no_object_is_refused)
{
	static const char *const bad[] = {"",
					  "1",
					  "[]",
					  "{",
					  "{\"a\"}",
					  "{\"a\":}",
					  "{\"a\":1,}",
					  "{\"a\":1} x",
					  "{a:1}",
					  "{\"a\":\"\\x\"}",
					  "{\"a\":tru}",
					  "{\"a\":--1}",
					  "{\"a\":[1 2]}",
					  "{\"a\":\"\\u12\"}",
					  "{\"a\":\"\\\"",
					  "{\"\\u0000bytes\":1}"};
	const struct attribute *back = all;
	size_t count = 7;
	char deep[200];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (attributes_read(bad[i], strlen(bad[i]), &pool, &back, &count) == 0 &&
		    i + 1 < sizeof(bad) / sizeof(*bad))
			CHECK_FAIL("%s was read", bad[i]);
	}
	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"a\":", 5);
	CHECK_EQ(attributes_read(deep, sizeof(deep), &pool, &back, &count), -EINVAL);
}

/* Every cut of a text is refused, and read from memory of just its size. */
TEST(a_cut_text_is_refused)
{
	const struct attribute *back;
	size_t count, bytes;
	char text[4096];

	strcpy(text, written(all, ALL, true));
	bytes = strlen(text);
	for (size_t cut = 0; cut < bytes; cut++) {
		char *copy = malloc(cut + 1);

		memcpy(copy, text, cut);
		copy = realloc(copy, cut ? cut : 1);
		CHECK_EQ(attributes_read(copy, cut, &pool, &back, &count), -EINVAL);
		free(copy);
	}
}

TEST_MAIN()
