/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of answers: hosts and failures, which no golden file has. */
#include "answer/json.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

static char text[4096];
static size_t text_bytes;

static int text_write(void *arg, const char *data, size_t bytes)
{
	CHECK(bytes < sizeof(text) - text_bytes);
	memcpy(text + text_bytes, data, bytes);
	text_bytes += bytes;
	text[text_bytes] = '\0';
	return 0;
}

static struct json j;

static struct json *begun(void)
{
	text_bytes = 0;
	json_init(&j, &(struct json_sink){text_write, NULL});
	return &j;
}

TEST(a_row_tells_its_host_if_it_has_one)
{
	struct row row = {.key = "k",
			  .count = 1,
			  .absent = ROW_NO_ERRORS | ROW_NO_DURATIONS | ROW_NO_PERCENTILES |
				    ROW_NO_SPLIT};

	row_write_json(begun(), &row);
	CHECK_EQ(json_end(&j), 0);
	CHECK_STR(text, "{\"key\":\"k\",\"count\":1}\n");
	row.host = "web-1";
	row_write_json(begun(), &row);
	CHECK_EQ(json_end(&j), 0);
	CHECK_STR(text, "{\"key\":\"k\",\"host\":\"web-1\",\"count\":1}\n");
}

static const struct span *span_none(const struct trace *trace, size_t index, bool brief)
{
	return NULL;
}

TEST(a_trace_without_memory_is_an_error)
{
	const struct trace trace = {.trace_id = "1", .spans_count = 1, .span = span_none};

	CHECK_EQ(trace_write_json(begun(), &trace), -ENOMEM);
}

TEST_MAIN()
