/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/unit/check.h"

static char text[3 * JSON_BUFFER_BYTES];

static size_t text_bytes;

/* A sink that keeps the text, and is full at the end of it. */
static int text_write(void *arg, const char *data, size_t bytes)
{
	if (bytes >= sizeof(text) - text_bytes)
		return -ENOSPC;
	memcpy(text + text_bytes, data, bytes);
	text_bytes += bytes;
	text[text_bytes] = '\0';
	return 0;
}

static const struct json_sink text_sink = {text_write, NULL};

/* Runs `write` on a writer, and returns the document. */
static const char *written(void (*write)(struct json *))
{
	struct json j;

	text_bytes = 0;
	json_init(&j, &text_sink);
	write(&j);
	CHECK_EQ(json_end(&j), 0);
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
	CHECK_STR(written(write_lines), "{\"rows\":[\n1,\n[2,3]\n],\"none\":[]}\n");
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
		  "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"]\n");
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
	CHECK_STR(written(write_doubles), "[0.1,1.0,1e+300,0.3333333333333333,null,null]\n");
}

/* Strings of all lengths around the size of the buffer reach the sink whole. */
TEST(a_text_of_any_length_is_whole)
{
	static char value[2 * JSON_BUFFER_BYTES + 1];
	struct json j;

	for (size_t n = JSON_BUFFER_BYTES - 8; n < sizeof(value); n += n % 13 ? 1 : 700) {
		memset(value, 'x', n);
		value[n] = '\0';
		text_bytes = 0;
		json_init(&j, &text_sink);
		json_array_begin(&j, NULL);
		json_string(&j, NULL, value);
		json_u64(&j, NULL, 7);
		json_array_end(&j);
		CHECK_EQ(json_end(&j), 0);
		CHECK_EQ(text_bytes, n + 7);
		CHECK(memcmp(text, "[\"", 2) == 0 && memcmp(text + 2, value, n) == 0);
		CHECK_STR(text + 2 + n, "\",7]\n");
	}
}

static int sink_calls;

static int refuse(void *arg, const char *data, size_t bytes)
{
	sink_calls++;
	return -EPIPE;
}

TEST(the_first_error_of_the_sink_is_the_result)
{
	struct json j;

	json_init(&j, &(struct json_sink){refuse, NULL});
	json_array_begin(&j, NULL);
	for (int i = 0; i < 2 * JSON_BUFFER_BYTES; i++)
		json_u64(&j, NULL, 1);
	json_array_end(&j);
	CHECK_EQ(json_end(&j), -EPIPE);
	CHECK_EQ(sink_calls, 1);
}

TEST_MAIN()
