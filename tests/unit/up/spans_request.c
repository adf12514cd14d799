/* SPDX-License-Identifier: Apache-2.0 */
/* Requests become spans of the store. */
#include "up/spans_request.h"

#include "tests/unit/request/chain.h"

static const struct chunk_info chunk = {
	.seq = 7, .host = "web-1", .clock = {.monotonic_ns = 1000, .unix_ns = 5000000}};

struct made {
	struct chain c;
	struct partial *p;
	struct request_host host;
	struct requests r;
	struct spans s;
	struct map stored;
	struct request_stored others;
};

static void made_of(struct made *m)
{
	*m = (struct made){.others = {.spans = &m->stored}};
	chain_begin(&m->c);
	chain_ask(&m->c, 2);
	m->p = talk_map(&m->c.t, 0, m->c.t.records.count);
	CHECK_EQ(partial_finish(m->p), 0);
	m->host = (struct request_host){.p = m->p, .name = "web-1", .boot = 7};
	CHECK_EQ(requests_make(&m->r, &m->host, 1, REQUEST_PROBABILITY_PPM), 0);
	CHECK_EQ(m->r.traces.count, 1);
	spans_begin(&m->s, &chunk);
}

static void made_free(struct made *m)
{
	spans_end(&m->s);
	map_free(&m->stored);
	requests_free(&m->r);
	partial_free(m->p);
	vec_free(&m->c.t.records);
}

static const struct attribute *found(const struct received_list *list, const char *key)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->data[i].key, key) == 0)
			return &list->data[i];
	}
	return NULL;
}

static int64_t number(const struct received_span *span, const char *key)
{
	const struct attribute *a = found(&span->attributes, key);

	return a && a->type == VALUE_INTEGER ? a->integer : -1;
}

static const char *text(const struct received_span *span, const char *key)
{
	const struct attribute *a = found(&span->attributes, key);

	return a && a->type == VALUE_STRING ? a->string : "";
}

TEST(an_exchange_is_two_spans)
{
	const struct received_span *spans;
	struct made m;

	made_of(&m);
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	CHECK_EQ(m.s.batch.count, 6);
	spans = m.s.batch.data;
	for (size_t i = 0; i < 6; i++) {
		CHECK_EQ(spans[i].kind, i % 2 ? RECEIVED_SERVER : RECEIVED_CLIENT);
		CHECK_EQ(spans[i].status, RECEIVED_UNSET);
		CHECK(spans[i].trace.high == spans[0].trace.high &&
		      spans[i].trace.low == spans[0].trace.low);
		CHECK_EQ(number(&spans[i], "fathom.version"), 8);
		CHECK(found(&spans[i].attributes, "fathom.kind") == NULL);
	}
	CHECK(spans[0].trace.high || spans[0].trace.low);
	CHECK_EQ(spans[0].parent_id, 0);
	CHECK(spans[1].parent_id == spans[0].span_id);
	CHECK(spans[2].parent_id == spans[1].span_id && spans[4].parent_id == spans[1].span_id);
	CHECK_STR(spans[0].name, "front:80");
	CHECK_STR(spans[2].name, "back:6379");
	CHECK_STR(spans[0].resource->service, "curl");
	CHECK_STR(spans[2].resource->service, "front");
	CHECK_STR(spans[3].resource->service, "back");
	CHECK_EQ(spans[0].begin_ns, 5000000 + 2000 - 1000);
	made_free(&m);
}

TEST(attributes_are_those_of_requests)
{
	const struct received_span *spans;
	const struct attribute *sure;
	struct made m;

	made_of(&m);
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	spans = m.s.batch.data;
	CHECK_STR(text(&spans[0], "network.transport"), "tcp");
	CHECK_STR(text(&spans[0], "network.peer.address"), "127.0.0.1");
	CHECK_EQ(number(&spans[0], "network.peer.port"), FRONT_PORT);
	CHECK_EQ(number(&spans[1], "network.local.port"), FRONT_PORT);
	CHECK_EQ(number(&spans[0], "bytes.to"), 10);
	CHECK_EQ(number(&spans[4], "bytes.from"), 10);
	CHECK_EQ(number(&spans[4], "answer.to"), 20);
	CHECK_STR(text(&spans[0], "edge.evidence"), "");
	CHECK_STR(text(&spans[1], "edge.evidence"), "bytes");
	CHECK_STR(text(&spans[2], "edge.evidence"), "thread");
	sure = found(&spans[2].attributes, "edge.probability");
	CHECK(sure && sure->type == VALUE_REAL && sure->real > 0.5 && sure->real <= 1);
	CHECK_EQ(number(&spans[2], "edge.candidates"), 1);
	CHECK_EQ(number(&spans[2], "thread.id"), FRONT);
	CHECK_EQ(number(&spans[1], "request.unread_ns"), 1000);
	CHECK_EQ(number(&spans[0], "answer.unread_ns"), 1000);
	CHECK_EQ(number(&spans[0], "request.unread_ns"), -1);
	made_free(&m);
}

TEST(a_span_that_is_stored_is_left_out)
{
	struct made m;

	made_of(&m);
	CHECK_EQ(map_put(&m.stored, request_span_id(&m.r, &m.r.spans.data[2]), PRESENT), 0);
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	CHECK_EQ(m.s.batch.count, 5);
	made_free(&m);
}

TEST(a_call_of_the_program_itself_is_left_out)
{
	struct made m;
	const struct exchange *x;
	struct decider_input input;

	made_of(&m);
	x = &m.r.exchanges.data[m.r.spans.data[2].of];
	input = (struct decider_input){.r = &m.r,
				       .own = {m.r.processes.list.data[x->server.process].pid}};
	m.others.input = &input;
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	CHECK_EQ(m.s.batch.count, 2); /* both calls of the front are of it */
	CHECK_STR(m.s.batch.data[1].name, "front:80");
	made_free(&m);
}

TEST_MAIN()
