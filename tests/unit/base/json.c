/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>

#include "tests/unit/check.h"

static char text[4096];

/* Runs `write` on a writer and leaves what it wrote in `text`. */
static const char *written(void (*write)(struct json *))
{
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct json j;

	json_init(&j, file);
	write(&j);
	fclose(file);
	return text;
}

static void write_nested(struct json *j)
{
	json_object_begin(j, NULL);
	json_s64(j, "a", INT64_MIN);
	json_u64(j, "b", UINT64_MAX);
	json_bool(j, "c", true);
	json_array_begin(j, "d");
	json_string(j, NULL, "x");
	json_object_begin(j, NULL);
	json_object_end(j);
	json_array_end(j);
	json_array_begin(j, "e");
	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

TEST(nested_values)
{
	CHECK_STR(written(write_nested), "{\"a\":-9223372036854775808,\"b\":18446744073709551615,"
					 "\"c\":true,\"d\":[\"x\",{}],\"e\":[]}\n");
}

static void write_lines(struct json *j)
{
	json_object_begin(j, NULL);
	json_array_begin_lines(j, "rows");
	json_s64(j, NULL, 1);
	json_array_begin(j, NULL);
	json_s64(j, NULL, 2);
	json_s64(j, NULL, 3);
	json_array_end(j);
	json_array_end(j);
	json_array_begin_lines(j, "none");
	json_array_end(j);
	json_object_end(j);
}

TEST(a_line_for_each_row)
{
	CHECK_STR(written(write_lines), "{\"rows\":[\n1,\n[2,3]\n],\"none\":[]}");
}

static void write_strings(struct json *j)
{
	json_array_begin(j, NULL);
	json_string(j, NULL, "\"\\/\b\f\n\r\t\x01\x7f");
	json_string(j, NULL, "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	json_string(j, NULL, "\xff\xc3(\xe2\x82\xed\xa0\x80\xc0\xaf");
	json_array_end(j);
}

TEST(strings_are_escaped_and_always_utf8)
{
	CHECK_STR(written(write_strings),
		  "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\","
		  "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\","
		  "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"]");
}

static void write_doubles(struct json *j)
{
	json_array_begin(j, NULL);
	json_double(j, NULL, 0.1);
	json_double(j, NULL, 1);
	json_double(j, NULL, 1e300);
	json_double(j, NULL, 1.0 / 3);
	json_double(j, NULL, NAN);
	json_double(j, NULL, -INFINITY);
	json_array_end(j);
}

TEST(doubles_read_back)
{
	CHECK_STR(written(write_doubles), "[0.1,1.0,1e+300,0.3333333333333333,null,null]");
}

TEST_MAIN()
