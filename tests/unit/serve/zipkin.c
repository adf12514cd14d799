/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/zipkin.h"

#include "base/vec.h"
#include "serve/answer.h"
#include "tests/unit/check.h"
#include "wire/zipkin.h"

static struct pool pool;

static struct received_batch decode(const char *text)
{
	struct received_batch batch = {0};
	struct error e = {0};

	pool_reset(&pool);
	if (zipkin_decode(text, strlen(text), &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	return batch;
}

static void written_check(struct json *j, struct bytes *text, const char *wanted)
{
	CHECK_EQ(json_end(j), 0);
	bytes_put_u8(text, '\0');
	CHECK_STR((const char *)text->data, wanted);
	bytes_free(text);
}

static void span_check(const struct received_span *span, const char *wanted)
{
	struct bytes text = {0};
	struct json j;

	json_init_bytes(&j, &text);
	zipkin_span_write(&j, span);
	written_check(&j, &text, wanted);
}

TEST(a_span_of_zipkin_comes_back)
{
	static const char span[] =
		"{\"traceId\":\"000000000000000a\",\"parentId\":\"000000000000000b\","
		"\"id\":\"000000000000000c\",\"kind\":\"PRODUCER\",\"name\":\"send\","
		"\"timestamp\":5,\"duration\":1,\"localEndpoint\":{\"serviceName\":\"a\","
		"\"ipv6\":\"::1\",\"port\":80},\"remoteEndpoint\":{\"serviceName\":\"b\","
		"\"ipv4\":\"127.0.0.1\",\"port\":81},\"annotations\":[{\"timestamp\":6,"
		"\"value\":\"x\"}],\"tags\":{\"k\":\"v\"},\"debug\":true,\"shared\":true}\n";
	char request[1024];
	struct received_batch batch;

	snprintf(request, sizeof(request), "[%s]", span);
	batch = decode(request);
	span_check(&batch.data[0], span);
	vec_free(&batch);
}

TEST(values_of_otlp_become_texts)
{
	static const struct attribute items[] = {{.type = VALUE_INTEGER, .integer = 1},
						 {.type = VALUE_STRING, .string = "\"x"}};
	static const struct attribute list[] = {
		{.key = "whole", .type = VALUE_INTEGER, .integer = -5},
		{.key = "real", .type = VALUE_REAL, .real = 0.5},
		{.key = "yes", .type = VALUE_BOOLEAN, .integer = 1},
		{.key = "bytes", .type = VALUE_BYTES, .string = "hi", .count = 2},
		{.key = "none", .type = VALUE_NONE},
		{.key = "array", .type = VALUE_ARRAY, .items = items, .count = 2}};
	static const struct attribute host[] = {
		{.key = "service.name", .type = VALUE_STRING, .string = "S"},
		{.key = "host", .type = VALUE_STRING, .string = "n1"}};
	static const struct received_resource resource = {"S", {host, 2, 0}};
	static const struct received_scope scope = {.name = "lib", .version = ""};
	static const struct received_event event = {1000, "miss", {list, 1, 0}};
	const struct received_span span = {.trace = {1, 2},
					   .span_id = 3,
					   .begin_ns = 2000,
					   .end_ns = 2999,
					   .name = "N",
					   .trace_state = "",
					   .status_text = "",
					   .kind = RECEIVED_INTERNAL,
					   .status = RECEIVED_ERROR,
					   .resource = &resource,
					   .scope = &scope,
					   .attributes = {list, 6, 0},
					   .events = &event,
					   .events_count = 1};

	span_check(&span,
		   "{\"traceId\":\"00000000000000010000000000000002\",\"id\":\"0000000000000003\","
		   "\"name\":\"n\",\"timestamp\":2,\"duration\":1,"
		   "\"localEndpoint\":{\"serviceName\":\"s\"},\"annotations\":[{\"timestamp\":1,"
		   "\"value\":\"\\\"miss\\\":{\\\"whole\\\":-5}\"}],\"tags\":{\"whole\":\"-5\","
		   "\"real\":\"0.5\",\"yes\":\"true\",\"bytes\":\"aGk=\",\"none\":\"\","
		   "\"array\":\"[1,\\\"\\\\\\\"x\\\"]\",\"host\":\"n1\",\"error\":\"true\","
		   "\"otel.status_code\":\"ERROR\",\"otel.scope.name\":\"lib\"}}\n");
}

#define SPAN(id, kind, service, rest)                                                              \
	"{\"traceId\":\"1\",\"id\":\"" id "\",\"kind\":\"" kind                                    \
	"\",\"localEndpoint\":{\"serviceName\":\"" service "\"}" rest "}"
#define PARENT(id) ",\"parentId\":\"" id "\""
#define REMOTE(service) ",\"remoteEndpoint\":{\"serviceName\":\"" service "\"}"
#define ERROR ",\"tags\":{\"error\":\"\"}"

static void links_check(const char *request, const char *wanted)
{
	struct received_batch batch = decode(request);
	service_links links = {0};
	struct bytes text = {0};
	struct json j;

	CHECK_EQ(links_find(&batch, true, &links), 0);
	json_init_bytes(&j, &text);
	zipkin_links_write(&j, &links);
	written_check(&j, &text, wanted);
	vec_free(&links);
	vec_free(&batch);
}

TEST(a_server_is_called_by_its_client)
{
	static const char once[] = "[{\"parent\":\"a\",\"child\":\"b\",\"callCount\":1}]\n";

	links_check("[]", "[]\n");
	links_check("[" SPAN("1", "CLIENT", "A", "") "," SPAN("2", "SERVER", "b", PARENT("1")) "]",
		    once);
	/* also where both have one id, and where only the server told of itself */
	links_check("[" SPAN("1", "CLIENT", "a", REMOTE("b")) "," SPAN("1", "SERVER", "b", "") "]",
		    once);
	links_check("[" SPAN("1", "SERVER", "a", "") "," SPAN("2", "SERVER", "b", PARENT("1")) "]",
		    once);
	links_check("[" SPAN("2", "SERVER", "b", PARENT("1")) "]", "[]\n");
	links_check("[" SPAN("1", "CLIENT", "a", "") "," SPAN("2", "SERVER", "A", PARENT("1")) "]",
		    "[]\n");
}

TEST(a_call_to_who_sends_no_spans_is_a_link)
{
	links_check("[" SPAN("1", "CLIENT", "a", REMOTE("db") ERROR) "," SPAN("2", "PRODUCER", "a",
									      REMOTE("DB")) "]",
		    "[{\"parent\":\"a\",\"child\":\"db\",\"callCount\":2,\"errorCount\":1}]\n");
	links_check("[" SPAN("1", "SERVER", "a", REMOTE("browser")) "]", "[]\n");
}

TEST(what_runs_under_a_shared_id_is_of_the_server)
{
	links_check("[" SPAN("1", "CLIENT", "a", "") "," SPAN("1", "SERVER", "b", "") "," SPAN(
			    "2", "CLIENT", "b", PARENT("1") REMOTE("c")) "]",
		    "[{\"parent\":\"a\",\"child\":\"b\",\"callCount\":1},"
		    "{\"parent\":\"b\",\"child\":\"c\",\"callCount\":1}]\n");
}

TEST_MAIN()
