/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/otlp_json.h"

#include "serve/answer.h"
#include "serve/jaeger.h"
#include "tests/unit/check.h"
#include "wire/otlp.h"

static const struct received_resource shop = {.service = "shop"};
static const struct received_scope scope = {.name = "lib", .version = ""};

static struct received_span make(uint64_t trace, uint64_t id, const char *name)
{
	return (struct received_span){.trace = {0, trace},
				      .span_id = id,
				      .begin_ns = 1000,
				      .end_ns = 2000,
				      .name = name,
				      .trace_state = "",
				      .status_text = "",
				      .resource = &shop,
				      .scope = &scope};
}

static void written_check(struct json *j, struct bytes *text, const char *wanted)
{
	json_object_end(j);
	CHECK_EQ(json_end(j), 0);
	bytes_put_u8(text, '\0');
	for (char *at = (char *)text->data, *to = at;; at++) { /* spans have lines of their own */
		if (*at != '\n' && *at != ' ')
			*to++ = *at;
		if (!*at)
			break;
	}
	CHECK_STR((const char *)text->data, wanted);
	bytes_free(text);
}

TEST(values_keep_their_types)
{
	static const struct attribute items[] = {
		{.key = "a", .type = VALUE_INTEGER, .integer = INT64_MIN},
		{.key = "b", .type = VALUE_NONE}};
	static const struct attribute list[] = {
		{.key = "real", .type = VALUE_REAL, .real = 1},
		{.key = "bytes", .type = VALUE_BYTES, .string = "hi", .count = 2},
		{.key = "map", .type = VALUE_MAP, .items = items, .count = 2}};
	struct received_span span = make(10, 11, "n");
	struct received_batch batch = {&span, 1, 1};
	struct bytes text = {0};
	struct json j;

	span.attributes = (struct received_list){list, 3, 5};
	json_init_bytes(&j, &text);
	json_object_begin(&j, NULL);
	otlp_json_write(&j, &batch);
	written_check(
		&j, &text,
		"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"shop\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":"
		"\"lib\"},\"spans\":[{\"traceId\":\"0000000000000000000000000000000a\","
		"\"spanId\":\"000000000000000b\",\"name\":\"n\",\"startTimeUnixNano\":\"1000\","
		"\"endTimeUnixNano\":\"2000\",\"attributes\":[{\"key\":\"real\",\"value\":{"
		"\"doubleValue\":1.0}},{\"key\":\"bytes\",\"value\":{\"bytesValue\":\"aGk=\"}},"
		"{\"key\":\"map\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"a\","
		"\"value\":{\"intValue\":\"-9223372036854775808\"}},{\"key\":\"b\",\"value\":{}}"
		"]}}}],\"droppedAttributesCount\":5,\"status\":{}}]}]}]}");
}

TEST(values_are_as_deep_as_they_are_received)
{
	struct attribute deep[OTLP_DEPTH + 1] = {{.type = VALUE_BOOLEAN}};
	struct received_event event = {1, "e", {&deep[OTLP_DEPTH], 1, 0}};
	struct received_span span = make(1, 2, "n");
	struct received_batch batch = {&span, 1, 1};
	struct bytes text = {0};
	struct json j;

	for (int i = 1; i <= OTLP_DEPTH; i++)
		deep[i] = (struct attribute){
			.key = "k", .type = VALUE_MAP, .items = &deep[i - 1], .count = 1};
	deep[0].key = "k";
	span.events = &event;
	span.events_count = 1;
	json_init_bytes(&j, &text);
	json_object_begin(&j, NULL);
	json_object_begin(&j, "result");
	otlp_json_write(&j, &batch);
	json_object_end(&j);
	json_object_end(&j);
	CHECK_EQ(json_end(&j), 0);
	bytes_free(&text);
}

TEST(traces_are_in_the_order_of_the_search)
{
	struct received_span spans[] = {make(1, 1, "a"), make(2, 2, "b"), make(1, 3, "c")};
	struct received_batch batch = {spans, 3, 3};
	struct trace_id order[] = {{0, 2}, {0, 1}};
	const struct store_ids ids = {order, 2, 2};

	CHECK_EQ(jaeger_batch_sort(&batch, &ids), 0);
	CHECK_STR(spans[0].name, "b");
	CHECK_STR(spans[1].name, "a");
	CHECK_STR(spans[2].name, "c");
}

TEST(a_summary_counts_spans_errors_and_orphans)
{
	static const struct received_resource bank = {.service = "bank"};
	struct received_span spans[] = {make(1, 1, "late"), make(1, 2, "root"), make(1, 3, "x"),
					make(1, 4, "y")};
	struct bytes text = {0};
	struct json j;

	spans[0].begin_ns = 1500;
	spans[2].parent_id = 2;
	spans[2].resource = &bank;
	spans[2].status = RECEIVED_ERROR;
	spans[2].end_ns = 9000;
	spans[3].parent_id = 77;
	json_init_bytes(&j, &text);
	json_object_begin(&j, NULL);
	json_array_begin(&j, "all");
	CHECK_EQ(jaeger_summary_write(&j, spans, 4), 0);
	json_array_end(&j);
	written_check(&j, &text,
		      "{\"all\":[{\"traceId\":\"00000000000000000000000000000001\","
		      "\"rootServiceName\":\"shop\",\"rootOperationName\":\"root\","
		      "\"minStartTimeUnixNano\":\"1000\",\"maxEndTimeUnixNano\":\"9000\","
		      "\"spanCount\":4,\"errorSpanCount\":1,\"orphanSpanCount\":1,\"services\":["
		      "{\"name\":\"bank\",\"spanCount\":1,\"errorSpanCount\":1},"
		      "{\"name\":\"shop\",\"spanCount\":3}]}]}");
}

TEST_MAIN()
