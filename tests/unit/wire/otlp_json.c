/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_sample.json is the request of otlp_sample.bin, which another encoder made. */
#include "wire/otlp_json.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "wire/otlp.h"

struct sample {
	char data[8192];
	size_t bytes;
};

static struct sample sample_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct sample sample;

	CHECK(file != NULL);
	sample.bytes = fread(sample.data, 1, sizeof(sample.data), file);
	fclose(file);
	CHECK(sample.bytes > 100 && sample.bytes < sizeof(sample.data));
	return sample;
}

/* Converts from memory of just its size, and walks: 0 or the error. */
static int convert(const char *data, size_t bytes, struct bytes *out)
{
	char *copy = malloc(bytes ? bytes : 1);
	struct otlp_walk walk = {0};
	struct error e = {0};
	int err;

	memcpy(copy, data, bytes);
	out->count = 0;
	err = otlp_from_json(copy, bytes, out, &e);
	CHECK_EQ(err != 0, *e.text != '\0');
	CHECK(out->count <= bytes);
	if (!err) {
		err = otlp_walk(out->data, out->count, &walk, NULL);
		otlp_walk_free(&walk);
	}
	free(copy);
	return err;
}

static int convert_text(const char *text, struct bytes *out)
{
	return convert(text, strlen(text), out);
}

TEST(a_request_is_the_same_in_both_formats)
{
	struct sample json = sample_read(OTLP_SAMPLE_JSON), binary = sample_read(OTLP_SAMPLE);
	struct bytes out = {0};

	CHECK_EQ(convert(json.data, json.bytes, &out), 0);
	CHECK_EQ(out.count, binary.bytes);
	CHECK_MEM(out.data, binary.data, binary.bytes);
	bytes_free(&out);
}

#define SPAN(fields) "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" fields "}]}]}]}"

TEST(other_ways_to_write_a_value_are_taken)
{
	static const char *const good[] = {
		"{}",
		" {\"resourceSpans\": null } ",
		SPAN("\"traceId\":\"1122334455667788\",\"spanId\":\"A1A2A3A4A5A6A7A8\""),
		SPAN("\"kind\":\"SPAN_KIND_SERVER\",\"status\":{\"code\":2}"),
		SPAN("\"kind\":99,\"flags\":4294967295,\"startTimeUnixNano\":"
		     "\"18446744073709551615\""),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"doubleValue\":\"NaN\"}}]"),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"bytesValue\":\"_-\\/+\"}}]"),
		SPAN("\"other\":{\"traceId\":5},\"traceid\":7")};
	struct bytes out = {0};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (convert_text(good[i], &out))
			CHECK_FAIL("refused: %s", good[i]);
	}
	bytes_free(&out);
}

TEST(a_short_trace_id_has_zeros_before_it)
{
	struct received_batch batch = {0};
	struct bytes out = {0};
	struct pool pool = {0};

	CHECK_EQ(convert_text(
			 SPAN("\"traceId\":\"1122334455667788\",\"spanId\":\"00000000000000ff\""),
			 &out),
		 0);
	CHECK_EQ(otlp_decode(out.data, out.count, &pool, &batch, NULL), 0);
	CHECK_EQ(batch.count, 1);
	CHECK(batch.data[0].trace.high == 0 && batch.data[0].trace.low == 0x1122334455667788u);
	CHECK_EQ(batch.data[0].span_id, 255);
	vec_free(&batch);
	pool_free(&pool);
	bytes_free(&out);
}

TEST(malformed_requests_are_refused)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"resourceSpans\":{}}",
		"{\"resourceSpans\":[null]}",
		"{} {}",
		SPAN("\"traceId\":\"112233445566778\""),
		SPAN("\"traceId\":\"112233445566778x\""),
		SPAN("\"spanId\":\"1122\""),
		SPAN("\"spanId\":12"),
		SPAN("\"name\":5"),
		SPAN("\"kind\":\"server\""),
		SPAN("\"kind\":-1"),
		SPAN("\"startTimeUnixNano\":\"18446744073709551616\""),
		SPAN("\"startTimeUnixNano\":1.5"),
		SPAN("\"startTimeUnixNano\":-1"),
		SPAN("\"droppedEventsCount\":4294967296"),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"x\"}}]"),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"bytesValue\":\"A\"}}]"),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"bytesValue\":\"A\\u0041\"}}]"),
		SPAN("\"attributes\":[{\"key\":\"k\",\"value\":{\"boolValue\":\"true\"}}]"),
		SPAN("\"attributes\":{}")};
	struct bytes out = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (convert_text(bad[i], &out) != -EPROTO)
			CHECK_FAIL("taken: %s", bad[i]);
	}
	bytes_free(&out);
}

TEST(a_request_that_is_cut_is_refused)
{
	struct sample json = sample_read(OTLP_SAMPLE_JSON);
	struct bytes out = {0};
	size_t end = json.bytes;

	while (json.data[end - 1] == '\n')
		end--;
	for (size_t cut = 0; cut < end; cut++)
		CHECK_EQ(convert(json.data, cut, &out), -EPROTO);
	bytes_free(&out);
}

/* An attribute with arrays in arrays. */
static int nested(int depth, struct bytes *out)
{
	struct bytes text = {0};
	int err;

	bytes_put(&text, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"value\":", 54);
	for (int i = 0; i < depth; i++)
		bytes_put(&text, "{\"arrayValue\":{\"values\":[", 25);
	bytes_put(&text, "{}", 2);
	for (int i = 0; i < depth; i++)
		bytes_put(&text, "]}}", 3);
	bytes_put(&text, "}]}}]}", 6);
	err = convert((const char *)text.data, text.count, out);
	bytes_free(&text);
	return err;
}

TEST(values_nest_to_a_depth_and_not_deeper)
{
	struct bytes out = {0};

	CHECK_EQ(nested(OTLP_DEPTH, &out), 0);
	CHECK_EQ(nested(OTLP_DEPTH + 1, &out), -EPROTO);
	CHECK_EQ(nested(100000, &out), -EPROTO);
	bytes_free(&out);
}

TEST_MAIN()
