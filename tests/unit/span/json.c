/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a span: which are always there, and which only with a value. */
#include "span/json.h"

#include <string.h>

#include "tests/unit/check.h"

static char text[8192];
static size_t text_bytes;

static int text_write(void *arg, const char *data, size_t bytes)
{
	CHECK(bytes < sizeof(text) - text_bytes);
	memcpy(text + text_bytes, data, bytes);
	text_bytes += bytes;
	text[text_bytes] = '\0';
	return 0;
}

static const char *span_text(const struct span *span)
{
	struct json j;

	text_bytes = 0;
	json_init(&j, &(struct json_sink){text_write, NULL});
	span_write_json(&j, span);
	CHECK_EQ(json_end(&j), 0);
	return text;
}

#define ALWAYS                                                                                     \
	"\"begin_ns\":5,\"end_ns\":9,\"begin_bound\":\"hard\",\"end_bound\":\"soft\",\"threads\":" \
	"1,"                                                                                       \
	"\"time\":{\"user_ns\":4,\"kernel_ns\":0,\"runnable_ns\":0,\"throttled_ns\":0,\"disk_"     \
	"ns\":0,"                                                                                  \
	"\"network_ns\":0,\"lock_ns\":0,\"timer_ns\":0,\"ipc_ns\":0,\"fault_ns\":0,\"child_ns\":"  \
	"0,"                                                                                       \
	"\"other_ns\":0,\"off_thread_ns\":0,\"unknown_ns\":0,\"cpu_ns\":0,\"idle_ns\":0},"

TEST(what_a_span_does_not_have_is_no_key)
{
	const struct span span = {.span_id = "00f067aa0ba902b7",
				  .name = "n",
				  .kind = "internal",
				  .begin_ns = 5,
				  .end_ns = 9,
				  .end_soft = true,
				  .threads = 1,
				  .time.ns[SPLIT_user] = 4};

	CHECK_STR(span_text(&span),
		  "{\"span_id\":\"00f067aa0ba902b7\",\"name\":\"n\","
		  "\"kind\":\"internal\"," ALWAYS "\"attributes\":{},\"events\":[]}\n");
}

TEST(all_that_a_span_has_is_there)
{
	static const struct attribute attributes[] = {
		{.key = "s", .type = VALUE_STRING, .string = "x"},
		{.key = "i", .type = VALUE_INTEGER, .integer = -3},
		{.key = "r", .type = VALUE_REAL, .real = 0.5},
		{.key = "b", .type = VALUE_BOOLEAN, .integer = 1},
	};
	static const struct event events[] = {
		{.time_ns = 6, .name = "e", .level = 3, .attributes = attributes, 1},
		{.time_ns = 7, .name = "f", .level = EVENT_NO_LEVEL},
	};
	static const struct link links[] = {
		{"4bf92f3577b34da6a3ce929d0e0e4736", "1111111111111111", attributes, 1}};
	static const struct frame frames[] = {
		{.address = 16,
		 .function = "f",
		 .symbol = "_f",
		 .offset = 2,
		 .file = "/f",
		 .file_offset = 3},
		{.address = 17, .kernel = true},
	};
	const struct span span = {.span_id = "00f067aa0ba902b7",
				  .parent_id = "2222222222222222",
				  .name = "n",
				  .kind = "server",
				  .service = "s",
				  .host = "h",
				  .process = "p",
				  .thread = "t",
				  .pid = 1,
				  .tid = 2,
				  .begin_ns = 5,
				  .end_ns = 9,
				  .end_soft = true,
				  .threads = 1,
				  .time.ns[SPLIT_user] = 4,
				  .attributes = attributes,
				  .attributes_count = 4,
				  .events = events,
				  .events_count = 2,
				  .links = links,
				  .links_count = 1,
				  .frames = frames,
				  .frames_count = 2};

	CHECK_STR(span_text(&span),
		  "{\"span_id\":\"00f067aa0ba902b7\",\"parent_id\":\"2222222222222222\","
		  "\"name\":\"n\",\"kind\":\"server\",\"service\":\"s\",\"host\":\"h\","
		  "\"process\":\"p\",\"pid\":1,\"thread\":\"t\",\"tid\":2," ALWAYS
		  "\"attributes\":{\"s\":\"x\",\"i\":-3,\"r\":0.5,\"b\":true},"
		  "\"events\":[{\"time_ns\":6,\"name\":\"e\",\"level\":\"error\","
		  "\"attributes\":{\"s\":\"x\"}},{\"time_ns\":7,\"name\":\"f\",\"attributes\":{}}],"
		  "\"links\":[{\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\","
		  "\"span_id\":\"1111111111111111\",\"attributes\":{\"s\":\"x\"}}],"
		  "\"stack\":[{\"address\":\"0x10\",\"function\":\"f\",\"symbol\":\"_f\","
		  "\"offset\":2,"
		  "\"file\":\"/f\",\"file_offset\":3,\"kernel\":false},"
		  "{\"address\":\"0x11\",\"kernel\":true}]}\n");
}

TEST_MAIN()
