/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer writes is what the reader reads. */
#include "wire/otlp_write.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"
#include "wire/otlp.h"

static void batch_read(const void *data, size_t bytes, struct pool *pool,
		       struct received_batch *batch)
{
	struct error e = {0};

	if (otlp_decode(data, bytes, pool, batch, &e))
		CHECK_FAIL("%s", e.text);
}

/* A request of another encoder, with each kind of value. */
static void sample_read(struct pool *pool, struct received_batch *batch)
{
	FILE *file = fopen(OTLP_SAMPLE, "rb");
	char data[4096];
	size_t bytes;

	CHECK(file != NULL);
	bytes = fread(data, 1, sizeof(data), file);
	fclose(file);
	batch_read(data, bytes, pool, batch);
	CHECK_EQ(batch->count, 2);
}

static void lists_compare(const struct attribute *a, const struct attribute *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(a[i].type, b[i].type);
		CHECK_STR(a[i].key ? a[i].key : "", b[i].key ? b[i].key : "");
		CHECK(a[i].integer == b[i].integer && a[i].count == b[i].count);
		CHECK(a[i].real == b[i].real);
		if (a[i].type == VALUE_STRING)
			CHECK_STR(a[i].string, b[i].string);
		if (a[i].type == VALUE_BYTES)
			CHECK_MEM(a[i].string, b[i].string, a[i].count);
		if (a[i].type == VALUE_ARRAY || a[i].type == VALUE_MAP)
			lists_compare(a[i].items, b[i].items, a[i].count);
	}
}

static void received_compare(const struct received_list *a, const struct received_list *b)
{
	CHECK_EQ(a->count, b->count);
	CHECK_EQ(a->dropped, b->dropped);
	lists_compare(a->data, b->data, a->count);
}

static void spans_compare(const struct received_span *a, const struct received_span *b)
{
	CHECK(a->trace.high == b->trace.high && a->trace.low == b->trace.low);
	CHECK(a->span_id == b->span_id && a->parent_id == b->parent_id);
	CHECK(a->begin_ns == b->begin_ns && a->end_ns == b->end_ns);
	CHECK_STR(a->name, b->name);
	CHECK_STR(a->trace_state, b->trace_state);
	CHECK_STR(a->status_text, b->status_text);
	CHECK(a->kind == b->kind && a->status == b->status && a->flags == b->flags);
	CHECK_STR(a->resource->service, b->resource->service);
	received_compare(&a->resource->attributes, &b->resource->attributes);
	CHECK_STR(a->scope->name, b->scope->name);
	CHECK_STR(a->scope->version, b->scope->version);
	received_compare(&a->scope->attributes, &b->scope->attributes);
	received_compare(&a->attributes, &b->attributes);
	CHECK(a->events_count == b->events_count && a->events_dropped == b->events_dropped);
	for (size_t i = 0; i < a->events_count; i++) {
		CHECK_STR(a->events[i].name, b->events[i].name);
		CHECK_EQ(a->events[i].time_ns, b->events[i].time_ns);
		received_compare(&a->events[i].attributes, &b->events[i].attributes);
	}
	CHECK(a->links_count == b->links_count && a->links_dropped == b->links_dropped);
	for (size_t i = 0; i < a->links_count; i++) {
		CHECK(a->links[i].trace.high == b->links[i].trace.high);
		CHECK_EQ(a->links[i].span_id, b->links[i].span_id);
		CHECK_STR(a->links[i].trace_state, b->links[i].trace_state);
		received_compare(&a->links[i].attributes, &b->links[i].attributes);
	}
}

TEST(a_request_comes_back_as_it_was)
{
	struct received_batch before = {0}, after = {0};
	struct bytes request = {0};
	struct pool pool = {0};

	sample_read(&pool, &before);
	otlp_write(&request, before.data, before.count);
	CHECK(!request.failed);
	batch_read(request.data, request.count, &pool, &after);
	CHECK_EQ(after.count, before.count);
	for (size_t i = 0; i < before.count; i++)
		spans_compare(&before.data[i], &after.data[i]);
	bytes_free(&request);
	vec_free(&before);
	vec_free(&after);
	pool_free(&pool);
}

TEST(spans_share_their_resource_and_scope)
{
	static const struct received_resource one = {.service = "one"}, two = {.service = "two"};
	static const struct received_scope scope = {.name = "", .version = ""};
	const struct received_span span = {.trace = {0, 1},
					   .span_id = 2,
					   .name = "",
					   .trace_state = "",
					   .status_text = "",
					   .resource = &one,
					   .scope = &scope};
	struct received_span spans[3] = {span, span, span};
	struct received_batch batch = {0};
	struct bytes request = {0};
	struct pool pool = {0};

	spans[2].resource = &two;
	otlp_write(&request, spans, 3);
	batch_read(request.data, request.count, &pool, &batch);
	CHECK_EQ(batch.count, 3);
	CHECK(batch.data[0].resource == batch.data[1].resource);
	CHECK_STR(batch.data[1].resource->service, "one");
	CHECK_STR(batch.data[2].resource->service, "two");
	bytes_free(&request);
	vec_free(&batch);
	pool_free(&pool);
}

TEST(no_span_is_an_empty_request)
{
	struct bytes request = {0};

	otlp_write(&request, NULL, 0);
	CHECK_EQ(request.count, 0);
	bytes_free(&request);
}

TEST_MAIN()
