/* SPDX-License-Identifier: Apache-2.0 */
/* The first spans of zipkin_sample.json have the fields that Zipkin's description shows. */
#include "wire/zipkin.h"

#include <errno.h>

#include "base/vec.h"
#include "span/attributes.h"
#include "tests/unit/check.h"

static struct pool pool;

struct sample {
	char data[8192];
	size_t bytes;
};

static struct sample sample_read(void)
{
	FILE *file = fopen(ZIPKIN_SAMPLE, "rb");
	struct sample sample;

	CHECK(file != NULL);
	sample.bytes = fread(sample.data, 1, sizeof(sample.data), file);
	fclose(file);
	CHECK(sample.bytes > 100 && sample.bytes < sizeof(sample.data));
	return sample;
}

static struct received_batch sample_decode(void)
{
	struct sample sample = sample_read();
	struct received_batch batch = {0};
	struct error e = {0};

	pool_reset(&pool);
	if (zipkin_decode(sample.data, sample.bytes, &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(batch.count, 3);
	return batch;
}

static const struct attribute *attribute_of(const struct received_span *span, const char *key)
{
	return attributes_find(span->attributes.data, span->attributes.count, key);
}

TEST(a_span_keeps_its_fields)
{
	struct received_batch batch = sample_decode();
	const struct received_span *span = &batch.data[0];

	CHECK(span->trace.high == 0x5982fe77008310ccu && span->trace.low == 0x80f1da5e10147517u);
	CHECK(span->span_id == 0xbd7a977555f6b982u && span->parent_id == 0);
	CHECK_STR(span->name, "Get /Caf\xc3\xa9");
	CHECK_EQ(span->kind, RECEIVED_CLIENT);
	CHECK_EQ(span->begin_ns, 1458702548467000000);
	CHECK_EQ(received_duration_ns(span), 386000000);
	CHECK_STR(span->resource->service, "Frontend");
	CHECK_STR(span->resource->attributes.data[0].key, "service.name");
	CHECK_EQ(span->status, RECEIVED_ERROR);
	CHECK_STR(span->status_text, "no \"luck\"");
	CHECK_EQ(span->attributes.count, 7);
	CHECK_STR(attribute_of(span, "http.path")->string, "/api");
	CHECK_STR(attribute_of(span, "network.local.address")->string, "192.168.99.1");
	CHECK_EQ(attribute_of(span, "network.local.port")->integer, 3306);
	CHECK_STR(attribute_of(span, "peer.service")->string, "Backend");
	CHECK_STR(attribute_of(span, "network.peer.address")->string, "2001:db8::c001");
	CHECK_EQ(span->events_count, 2);
	CHECK_EQ(span->events[0].time_ns, 1458702548467100000);
	CHECK_STR(span->events[1].name, "wr");
	CHECK(!span->shared);
	vec_free(&batch);
}

TEST(the_halves_of_a_call_are_two_spans)
{
	struct received_batch batch = sample_decode();
	const struct received_span *span = &batch.data[1], *bare = &batch.data[2];

	CHECK_EQ(span->span_id, batch.data[0].span_id);
	CHECK_EQ(span->kind, RECEIVED_SERVER);
	CHECK(span->shared && span->parent_id == 0);
	CHECK_STR(span->resource->service, "backend");
	CHECK_EQ(span->status, RECEIVED_OK);
	CHECK_STR(span->scope->name, "lib");
	CHECK_STR(attribute_of(span, "error")->string, "false");
	CHECK_EQ(attribute_of(span, "zipkin.debug")->integer, 1);
	CHECK(bare->trace.high == 0 && bare->trace.low == 0x10cc);
	CHECK(bare->span_id == 0x1c8 && bare->parent_id == 0x7b);
	CHECK_STR(bare->resource->service, SERVICE_UNKNOWN);
	CHECK_EQ(bare->resource->attributes.count, 0);
	CHECK_STR(bare->scope->name, "");
	CHECK_EQ(bare->kind, RECEIVED_UNSPECIFIED);
	vec_free(&batch);
}

/* Takes the same requests, of exactly `bytes` of memory, as zipkin_walk(). */
static int both(const char *data, size_t bytes, uint64_t *spans)
{
	char *copy = malloc(bytes ? bytes : 1);
	struct received_batch batch = {0};
	struct error e = {0};
	int err, decoded;

	memcpy(copy, data, bytes);
	pool_reset(&pool);
	err = zipkin_walk(copy, bytes, spans, &e);
	decoded = zipkin_decode(copy, bytes, &pool, &batch, NULL);
	CHECK_EQ(err != 0, *e.text != '\0');
	if (err != decoded || (!err && *spans != batch.count) || (err && batch.count))
		err = -EIO;
	vec_free(&batch);
	free(copy);
	return err;
}

#define IDS "\"traceId\":\"a\",\"id\":\"b\""

TEST(requests_without_faults_are_taken)
{
	static const struct {
		const char *text;
		uint64_t spans;
	} good[] = {
		{"[]", 0},
		{"[{" IDS "}]", 1},
		{"[{" IDS "},{" IDS "}]", 2},
		{"[{" IDS ",\"timestamp\":\"5\",\"duration\":18446744073709551}]", 1},
		{"[{" IDS ",\"parentId\":\"b\"}]", 1},
		{"[{" IDS ",\"annotations\":[],\"tags\":{},\"shared\":false,\"debug\":null}]", 1}};
	uint64_t spans;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (both(good[i].text, strlen(good[i].text), &spans) || spans != good[i].spans)
			CHECK_FAIL("refused: %s", good[i].text);
	}
}

TEST(one_bad_span_refuses_the_request)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[null]",
		"[{}]",
		"[{" IDS "},{\"traceId\":\"a\"}]",
		"[{\"id\":\"b\"}]",
		"[{\"traceId\":\"0000\",\"id\":\"b\"}]",
		"[{\"traceId\":\"a\",\"id\":\"0\"}]",
		"[{\"traceId\":\"A\",\"id\":\"b\"}]",
		"[{\"traceId\":\"g\",\"id\":\"b\"}]",
		"[{\"traceId\":\"\",\"id\":\"b\"}]",
		"[{\"traceId\":\"a\",\"id\":\"12345678901234567\"}]",
		"[{\"traceId\":\"123456789012345678901234567890123\",\"id\":\"b\"}]",
		"[{\"traceId\":10,\"id\":\"b\"}]",
		"[{" IDS ",\"parentId\":\"x\"}]",
		"[{" IDS ",\"kind\":\"client\"}]",
		"[{" IDS ",\"timestamp\":-1}]",
		"[{" IDS ",\"duration\":1.5}]",
		"[{" IDS ",\"duration\":18446744073709552}]",
		"[{" IDS ",\"localEndpoint\":{\"port\":65536}}]",
		"[{" IDS ",\"tags\":{\"a\":1}}]",
		"[{" IDS ",\"annotations\":{}}]",
		"[{" IDS "}],"};
	uint64_t spans;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (both(bad[i], strlen(bad[i]), &spans) != -EPROTO)
			CHECK_FAIL("taken: %s", bad[i]);
	}
}

TEST(a_request_that_is_cut_is_refused)
{
	struct sample sample = sample_read();
	uint64_t spans;

	while (sample.data[sample.bytes - 1] == '\n')
		sample.bytes--;
	for (size_t cut = 0; cut < sample.bytes; cut++)
		CHECK_EQ(both(sample.data, cut, &spans), -EPROTO);
	CHECK_EQ(both(sample.data, sample.bytes, &spans), 0);
}

TEST(any_damage_is_survived)
{
	struct sample sample = sample_read();
	uint64_t spans;

	for (size_t at = 0; at < sample.bytes; at++) {
		for (int bit = 0; bit < 8; bit++) {
			int err;

			sample.data[at] ^= (char)(1 << bit);
			err = both(sample.data, sample.bytes, &spans);
			CHECK(err == 0 || err == -EPROTO);
			sample.data[at] ^= (char)(1 << bit);
		}
	}
}

TEST(a_pool_that_is_full_is_no_memory)
{
	struct sample sample = sample_read();
	struct pool small = {.limit_bytes = 64};
	struct received_batch batch = {0};

	CHECK_EQ(zipkin_decode(sample.data, sample.bytes, &small, &batch, NULL), -ENOMEM);
	CHECK_EQ(batch.count, 0);
	vec_free(&batch);
	pool_free(&small);
}

TEST_MAIN()
