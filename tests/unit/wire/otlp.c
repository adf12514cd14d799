/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_sample.bin is of the encoder of OpenTelemetry for Python: otlp_sample.py makes it. */
#include "wire/otlp.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "tests/unit/check.h"

static struct pool pool;

struct sample {
	char data[4096];
	size_t bytes;
};

static void sample_read(struct sample *sample)
{
	FILE *file = fopen(OTLP_SAMPLE, "rb");

	CHECK(file != NULL);
	sample->bytes = fread(sample->data, 1, sizeof(sample->data), file);
	fclose(file);
	CHECK(sample->bytes > 100 && sample->bytes < sizeof(sample->data));
}

static struct received_batch sample_decode(void)
{
	struct received_batch batch = {0};
	struct error e = {0};
	struct sample sample;

	sample_read(&sample);
	pool_reset(&pool);
	if (otlp_decode(sample.data, sample.bytes, &pool, &batch, &e))
		CHECK_FAIL("%s", e.text);
	return batch;
}

TEST(a_walk_counts_spans_and_those_without_ids)
{
	struct otlp_walk walk;
	struct sample sample;

	sample_read(&sample);
	CHECK_EQ(otlp_walk(sample.data, sample.bytes, &walk, NULL), 0);
	CHECK_EQ(walk.spans, 4);
	CHECK_EQ(walk.rejected.count, 2);
	CHECK_EQ(walk.rejected.data[0], 1);
	CHECK_EQ(walk.rejected.data[1], 2);
	otlp_walk_free(&walk);
}

TEST(a_span_keeps_its_fields)
{
	struct received_batch batch = sample_decode();
	const struct received_span *span = &batch.data[0];

	CHECK_EQ(batch.count, 2);
	CHECK(span->trace.high == 0x0123456789abcdefu && span->trace.low == 0x1122334455667788u);
	CHECK(span->span_id == 0xa1a2a3a4a5a6a7a8u);
	CHECK(span->parent_id == 0xb1b2b3b4b5b6b7b8u);
	CHECK_STR(span->name, "GET /caf\xc3\xa9");
	CHECK_STR(span->trace_state, "vendor=1");
	CHECK_EQ(span->kind, RECEIVED_SERVER);
	CHECK_EQ(span->begin_ns, 1700000000000000001);
	CHECK_EQ(received_duration_ns(span), 250000000);
	CHECK_EQ(span->flags, 0x101);
	CHECK_EQ(span->status, RECEIVED_ERROR);
	CHECK_STR(span->status_text, "no luck");
	CHECK_EQ(span->attributes.dropped, 2);
	CHECK_EQ(span->events_dropped, 3);
	CHECK_EQ(span->links_dropped, 4);
	vec_free(&batch);
}

TEST(resource_and_scope_belong_to_their_spans)
{
	struct received_batch batch = sample_decode();
	const struct received_span *span = &batch.data[0], *bare = &batch.data[1];

	CHECK_STR(span->resource->service, "shop");
	CHECK_EQ(span->resource->attributes.count, 2);
	CHECK_EQ(span->resource->attributes.dropped, 1);
	CHECK_STR(span->scope->name, "lib.http");
	CHECK_STR(span->scope->version, "1.2");
	CHECK_STR(span->scope->attributes.data[0].key, "short");
	CHECK_STR(bare->resource->service, SERVICE_UNKNOWN);
	CHECK_STR(bare->scope->name, "");
	CHECK_STR(bare->name, "bare");
	CHECK_EQ(bare->span_id, 1);
	CHECK_EQ(bare->attributes.count, 0);
	vec_free(&batch);
}

TEST(values_keep_their_types)
{
	struct received_batch batch = sample_decode();
	const struct attribute *a = batch.data[0].attributes.data;

	CHECK_EQ(batch.data[0].attributes.count, 12);
	CHECK_STR(a[0].string, "value");
	CHECK(a[1].type == VALUE_BOOLEAN && a[1].integer == 1);
	CHECK(a[2].type == VALUE_INTEGER && a[2].integer == INT64_MIN);
	CHECK(a[3].type == VALUE_INTEGER && a[3].integer == INT64_MAX);
	CHECK(a[4].type == VALUE_REAL && a[4].real == 0.5);
	CHECK(a[5].type == VALUE_REAL && a[5].real == 3.0);
	CHECK(a[6].type == VALUE_BYTES && a[6].count == 2);
	CHECK_MEM(a[6].string, "\0\xff", 2);
	CHECK_EQ(a[7].type, VALUE_NONE);
	CHECK(a[8].type == VALUE_STRING && !*a[8].string);
	CHECK(a[9].type == VALUE_ARRAY && a[9].count == 3);
	CHECK_STR(a[9].items[0].string, "a");
	CHECK(a[9].items[2].items[0].real == 2.5);
	CHECK_STR(a[10].items[0].items[0].key, "inner");
	CHECK_EQ(a[10].items[0].items[0].items[0].integer, 1);
	CHECK(a[11].type == VALUE_ARRAY && a[11].count == 0);
	vec_free(&batch);
}

TEST(events_and_links_come_with_their_attributes)
{
	struct received_batch batch = sample_decode();
	const struct received_event *event = batch.data[0].events;
	const struct received_link *link = batch.data[0].links;

	CHECK_EQ(batch.data[0].events_count, 1);
	CHECK_STR(event->name, "cache miss");
	CHECK_EQ(event->time_ns, 1700000000100000000);
	CHECK_STR(event->attributes.data[0].string, "k1");
	CHECK_EQ(event->attributes.dropped, 5);
	CHECK_EQ(batch.data[0].links_count, 1);
	CHECK(link->trace.high == 0x8877665544332211u);
	CHECK(link->span_id == 0xc1c2c3c4c5c6c7c8u);
	CHECK_STR(link->trace_state, "x=y");
	CHECK_STR(link->attributes.data[0].string, "retry");
	CHECK_EQ(link->attributes.dropped, 6);
	vec_free(&batch);
}

/* Takes the same requests, of exactly `bytes` of memory, as otlp_walk(). */
static int both(const char *data, size_t bytes, uint64_t *spans)
{
	char *copy = malloc(bytes ? bytes : 1);
	struct received_batch batch = {0};
	struct otlp_walk walk;
	int err, decoded;

	memcpy(copy, data, bytes);
	pool_reset(&pool);
	err = otlp_walk(copy, bytes, &walk, NULL);
	decoded = otlp_decode(copy, bytes, &pool, &batch, NULL);
	*spans = walk.spans;
	if (err != decoded || (!err && walk.spans - walk.rejected.count != batch.count))
		err = -EIO;
	otlp_walk_free(&walk);
	vec_free(&batch);
	free(copy);
	return err;
}

TEST(a_request_that_is_cut_is_malformed_or_whole)
{
	struct sample sample;
	uint64_t spans;
	int whole = 0;

	sample_read(&sample);
	for (size_t cut = 0; cut <= sample.bytes; cut++) {
		int err = both(sample.data, cut, &spans);

		CHECK(err == 0 || err == -EPROTO);
		whole += err == 0;
	}
	CHECK_EQ(whole, 3); /* nothing, the first resource's spans, all */
}

TEST(any_damage_is_survived)
{
	struct sample sample;
	uint64_t spans;

	sample_read(&sample);
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

/* Puts the bytes into a field of a message around them. */
static void wrap(struct bytes *b, uint8_t number)
{
	struct bytes outer = {0};

	bytes_put_u8(&outer, (uint8_t)(number << 3 | 2));
	bytes_put_varint(&outer, b->count);
	bytes_put(&outer, b->data, b->count);
	bytes_free(b);
	*b = outer;
}

/* A span with `before`, an attribute that has arrays in arrays in it. */
static int nested(int depth, uint64_t *spans)
{
	struct bytes b = {0};
	int err;

	for (int i = 0; i < depth; i++) {
		wrap(&b, 1);
		wrap(&b, 5);
	}
	wrap(&b, 2); /* value of the attribute */
	wrap(&b, 9);
	bytes_put(&b,
		  "\x0a\x10"
		  "0123456789abcdef"
		  "\x12\x08"
		  "01234567",
		  28);
	wrap(&b, 2);
	wrap(&b, 2);
	wrap(&b, 1);
	err = both((const char *)b.data, b.count, spans);
	bytes_free(&b);
	return err;
}

TEST(values_nest_to_a_depth_and_not_deeper)
{
	uint64_t spans;

	CHECK_EQ(nested(OTLP_DEPTH, &spans), 0);
	CHECK_EQ(spans, 1);
	CHECK_EQ(nested(OTLP_DEPTH + 1, &spans), -EPROTO);
	CHECK_EQ(nested(3000, &spans), -EPROTO);
}

TEST(attributes_beyond_the_limit_are_counted)
{
	struct received_batch batch = {0};
	struct bytes b = {0};

	bytes_put(&b,
		  "\x0a\x10"
		  "0123456789abcdef"
		  "\x12\x08"
		  "01234567",
		  28);
	for (int i = 0; i < OTLP_ATTRIBUTES + 7; i++)
		bytes_put(&b, "\x4a\x03\x0a\x01k", 5);
	bytes_put(&b, "\x50\x02", 2); /* two more that the sender dropped */
	wrap(&b, 2);
	wrap(&b, 2);
	wrap(&b, 1);
	pool_reset(&pool);
	CHECK_EQ(otlp_decode(b.data, b.count, &pool, &batch, NULL), 0);
	CHECK_EQ(batch.data[0].attributes.count, OTLP_ATTRIBUTES);
	CHECK_EQ(batch.data[0].attributes.dropped, 9);
	vec_free(&batch);
	bytes_free(&b);
}

TEST(ids_of_other_lengths_are_malformed)
{
	uint64_t spans;
	struct bytes b = {0};

	bytes_put(&b,
		  "\x0a\x08"
		  "01234567"
		  "\x12\x08"
		  "01234567",
		  20);
	wrap(&b, 2);
	wrap(&b, 2);
	wrap(&b, 1);
	CHECK_EQ(both((const char *)b.data, b.count, &spans), -EPROTO);
	bytes_free(&b);
}

TEST(texts_become_valid)
{
	struct received_batch batch = {0};
	struct bytes b = {0};

	bytes_put(&b,
		  "\x0a\x10"
		  "0123456789abcdef"
		  "\x12\x08"
		  "01234567",
		  28);
	bytes_put(&b,
		  "\x2a\x04"
		  "a\xff\0b",
		  6);
	wrap(&b, 2);
	wrap(&b, 2);
	wrap(&b, 1);
	pool_reset(&pool);
	CHECK_EQ(otlp_decode(b.data, b.count, &pool, &batch, NULL), 0);
	CHECK_STR(batch.data[0].name, "a\xef\xbf\xbd\xef\xbf\xbd"
				      "b");
	vec_free(&batch);
	bytes_free(&b);
}

TEST_MAIN()
