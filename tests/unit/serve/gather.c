/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of many traces are gathered as long as there are time and memory. */
#include "serve/gather.h"

#include "serve/compare.h"
#include "serve/own.h"
#include "serve/where.h"
#include "tests/unit/store/spans.h"

#define TRACES 200u
#define TEXT_BYTES 10000

static char long_text[TEXT_BYTES + 1];

/* A store of traces with a request each, which has a long attribute. */
static struct store *filled(void)
{
	const struct attribute attributes[] = {
		{.key = "body", .type = VALUE_STRING, .string = long_text}};
	struct received_span spans[TRACES];
	struct store *s = open_empty();

	memset(long_text, 'x', TEXT_BYTES);
	for (uint64_t i = 0; i < TRACES; i++) {
		spans[i] = make(i + 1, 1, "request");
		spans[i].attributes = (struct received_list){attributes, 1, 0};
	}
	append(s, spans, TRACES);
	commit(s, 1);
	return s;
}

static const struct gather_query requests = {.operation = "request", .kind = -1, .traces = TRACES};

/* Gathers with so much memory. What the spans point to is gone. */
static void gather_with(struct store *s, const struct gather_query *query, size_t limit_bytes,
			struct gathered *out)
{
	const struct api_source source = {.store = s};
	struct pool own = {.limit_bytes = limit_bytes};
	struct error e = {0};
	struct query q = {.source = &source, .pool = &own, .e = &e};

	*out = (struct gathered){0};
	if (gather(&q, query, out))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(own.limit_bytes, limit_bytes);
	CHECK(!limit_bytes || own.bytes <= limit_bytes / 4 * 3);
	pool_free(&own);
}

/* Appends a span of the first trace that begins at a second. */
static void append_one(struct store *s, uint64_t second, uint64_t id, uint64_t parent,
		       const char *name)
{
	struct received_span span = make(second, id, name);

	span.trace.low = 1;
	span.parent_id = parent;
	append(s, &span, 1);
}

TEST(with_time_and_memory_all_traces_are_gathered)
{
	struct store *s = filled();
	struct gather_query query = requests;
	struct gathered g;

	query.until_ns = clock_now_ns() + UINT64_C(3600000000000);
	query.sets_behind = 1;
	gather_with(s, &query, 0, &g);
	CHECK_EQ(g.traces, TRACES);
	CHECK_EQ(g.subjects.count, TRACES);
	CHECK(!g.is_partial);
	gathered_free(&g);
	drop(s);
}

TEST(spans_that_begin_long_before_what_is_asked_for_are_not_read)
{
	struct store *s = open_empty();
	struct gathered g;

	/* one trace: a job, a minute and a half later a request, and a span beneath that */
	append_one(s, 100, 1, 0, "job");
	append_one(s, 190, 2, 1, "request");
	append_one(s, 190, 3, 2, "query");
	/* another one that begins a little before what is above it, as clocks differ */
	append_one(s, 189, 4, 0, "early");
	commit(s, 1);
	gather_with(s, &requests, 0, &g);
	CHECK_EQ(g.traces, 1);
	CHECK_EQ(g.batch.count, 3);
	CHECK_EQ(g.subjects.count, 1);
	gathered_free(&g);
	drop(s);
}

TEST(when_the_time_is_over_the_answer_is_partial)
{
	struct store *s = filled();
	struct gather_query query = requests;
	struct gathered g;

	query.until_ns = clock_now_ns();
	gather_with(s, &query, 0, &g);
	CHECK_EQ(g.traces, 0);
	CHECK_EQ(g.batch.count, 0);
	CHECK(g.is_partial);
	gathered_free(&g);
	drop(s);
}

TEST(what_memory_lacks_is_left_out_and_some_is_left_for_the_answer)
{
	struct store *s = filled();
	struct gathered g;

	gather_with(s, &requests, 2000000, &g);
	CHECK(g.traces >= 32);
	CHECK(g.traces < TRACES);
	CHECK_EQ(g.batch.count, g.traces);
	CHECK(g.is_partial);
	gathered_free(&g);
	drop(s);
}

/* Not even the first of them have place. */
TEST(without_memory_for_any_trace_it_fails)
{
	struct store *s = filled();
	const struct api_source source = {.store = s};
	struct pool own = {.limit_bytes = 200000};
	struct error e = {0};
	struct query q = {.source = &source, .pool = &own, .e = &e};
	struct gathered g = {0};

	CHECK_EQ(gather(&q, &requests, &g), -ENOMEM);
	gathered_free(&g);
	pool_free(&own);
	drop(s);
}

/* Calls of the last minute: one to a service that sends spans, and many to one that does not. */
static struct store *with_calls(void)
{
	static const struct received_resource bank = {.service = "bank"};
	const struct attribute attributes[] = {
		{.key = "peer.service", .type = VALUE_STRING, .string = "psp"},
		{.key = "body", .type = VALUE_STRING, .string = long_text}};
	uint64_t begin_ns = clock_read_ns(CLOCK_REALTIME) - UINT64_C(30000000000);
	struct received_span spans[TRACES + 1];
	struct store *s = open_empty();

	memset(long_text, 'x', TEXT_BYTES);
	for (uint64_t i = 0; i <= TRACES; i++) {
		spans[i] = make(i, 1, "call");
		spans[i].kind = RECEIVED_CLIENT;
		spans[i].begin_ns = begin_ns;
		spans[i].end_ns = begin_ns + 1000000;
		if (i > 1)
			spans[i].attributes = (struct received_list){attributes, 2, 0};
	}
	spans[1].trace = spans[0].trace;
	spans[1].span_id = 2;
	spans[1].parent_id = 1;
	spans[1].kind = RECEIVED_SERVER;
	spans[1].resource = &bank;
	append(s, spans, TRACES + 1);
	commit(s, 1);
	return s;
}

/* The answer with so much memory. */
static const char *edges_with(struct store *s, size_t limit_bytes)
{
	static char text[4096];
	const struct api_source source = {.store = s};
	struct pool own = {.limit_bytes = limit_bytes};
	struct bytes body = {0};
	struct error e = {0};
	struct query q = {.source = &source, .pool = &own, .body = &body, .e = &e};
	int status = own_edges(&q);

	if (status != MHD_HTTP_OK)
		CHECK_FAIL("%d: %s", status, e.text);
	CHECK_EQ(own.limit_bytes, limit_bytes);
	snprintf(text, sizeof(text), "%.*s", (int)body.count, (const char *)body.data);
	bytes_free(&body);
	pool_free(&own);
	return text;
}

TEST(calls_are_told_also_without_memory_for_the_sample)
{
	struct store *s = with_calls();
	const char *text = edges_with(s, 0);

	CHECK(strstr(text, "\"to\":\"bank\"") != NULL);
	CHECK(strstr(text, "\"to\":\"psp\"") != NULL);
	CHECK(!strstr(text, "\"partial\""));
	text = edges_with(s, 200000);
	CHECK(strstr(text, "\"to\":\"bank\"") != NULL);
	CHECK(!strstr(text, "\"to\":\"psp\""));
	CHECK(strstr(text, "\"partial\":true") != NULL);
	text = edges_with(s, 1000000);
	CHECK(strstr(text, "\"to\":\"psp\"") != NULL);
	CHECK(strstr(text, "\"partial\":true") != NULL);
	drop(s);
}

/* How often a text is in another one. */
static unsigned int times(const char *text, const char *part)
{
	unsigned int count = 0;

	while ((text = strstr(text, part))) {
		text++;
		count++;
	}
	return count;
}

/* Each has a span, and the first one a thousand. */
TEST(traces_that_are_too_large_are_found_all_the_same)
{
	static char text[65536];
	struct store *s = filled();
	const struct api_source source = {.store = s};
	const struct attribute attribute = {
		.key = "body", .type = VALUE_STRING, .string = long_text};
	struct pool own = {.limit_bytes = 1000000};
	struct bytes body = {0};
	struct error e = {0};
	struct query q = {.source = &source, .pool = &own, .body = &body, .e = &e};
	static struct received_span spans[1000];

	for (uint64_t i = 0; i < 1000; i++) {
		spans[i] = make(TRACES, i + 2, "request");
		spans[i].attributes = (struct received_list){&attribute, 1, 0};
	}
	append(s, spans, 1000);
	commit(s, 2);
	if (own_search(&q) != MHD_HTTP_OK)
		CHECK_FAIL("%s", e.text);
	snprintf(text, sizeof(text), "%.*s", (int)body.count, (const char *)body.data);
	CHECK_EQ(times(text, "\"trace_id\""), 20);
	CHECK_EQ(times(text, "\"spans\":1,"), 19);
	CHECK_EQ(times(text, "\"spans\""), 19);
	CHECK_EQ(times(text, "\"next\""), 1);
	CHECK(!error_is_set(&e));
	bytes_free(&body);
	pool_free(&own);
	drop(s);
}

static struct gathered spans_with(uint64_t until_ns)
{
	static struct received_span spans[2];
	struct gathered g = {.batch = {spans, 2, 2}, .until_ns = until_ns};

	spans[0] = make(1, 1, "request");
	spans[1] = make(2, 1, "request");
	CHECK_EQ(gathered_index(&g, &requests), 0);
	return g;
}

static void spans_free(struct gathered *g)
{
	g->batch.data = NULL; /* it is static */
	gathered_free(g);
}

TEST(a_tree_ends_with_its_time)
{
	struct pool own = {0};
	struct where_tree late = {.pool = &own}, whole = {.pool = &own};
	struct gathered g = spans_with(clock_now_ns());

	CHECK_EQ(where_add(&late, &g), 0);
	CHECK(late.is_partial);
	CHECK_EQ(late.spans, 0);
	spans_free(&g);
	g = spans_with(0);
	CHECK_EQ(where_add(&whole, &g), 0);
	CHECK(!whole.is_partial);
	CHECK_EQ(whole.spans, 2);
	spans_free(&g);
	where_free(&late);
	where_free(&whole);
	pool_free(&own);
}

TEST(a_comparison_ends_with_its_time)
{
	struct pool own = {0};
	struct comparison c = {.pool = &own};
	struct gathered g = spans_with(0);

	CHECK_EQ(comparison_add(&c, 0, &g, NULL), 0);
	spans_free(&g);
	g = spans_with(clock_now_ns());
	CHECK_EQ(comparison_add(&c, 1, &g, NULL), 0);
	CHECK(!c.sides[0].is_partial);
	CHECK_EQ(c.sides[0].spans, 2);
	CHECK(c.sides[1].is_partial);
	CHECK_EQ(c.sides[1].spans, 0);
	spans_free(&g);
	comparison_free(&c);
	pool_free(&own);
}

TEST_MAIN()
