/* SPDX-License-Identifier: Apache-2.0 */
/* Requests become spans of the store. */
#include "up/spans_request.h"

#include "tests/unit/request/chain.h"

static const struct chunk_info chunk = {.seq = 7,
					.host = "web-1",
					.end_ns = 20000,
					.clock = {.monotonic_ns = 1000, .unix_ns = 5000000}};

struct made {
	struct chain c;
	struct partial *p;
	struct request_host host;
	struct requests r;
	struct spans s;
	struct map stored;
	struct request_stored others;
};

static void made_begin(struct made *m)
{
	*m = (struct made){.others = {.spans = &m->stored}};
	chain_begin(&m->c);
}

static void made_end(struct made *m)
{
	m->p = talk_map(&m->c.t, 0, m->c.t.records.count);
	CHECK_EQ(partial_finish(m->p), 0);
	m->host = (struct request_host){.p = m->p, .name = "web-1", .boot = 7};
	CHECK_EQ(requests_make(&m->r, &m->host, 1, REQUEST_PROBABILITY_PPM), 0);
	CHECK_EQ(m->r.traces.count, 1);
	spans_begin(&m->s, &chunk);
}

static void made_of(struct made *m)
{
	made_begin(m);
	chain_ask(&m->c, 2);
	made_end(m);
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

#define FSYNC 74
#define RECVFROM 45
#define FILE_KEY 9

/* A call of FRONT that ends now. */
static void calls(struct made *m, u16 nr, u64 duration_ns)
{
	const struct file_ref file = {.key = FILE_KEY, .dev = 8, .kind = FILE_KIND_regular};

	talk_add(&m->c.t, &(union talk_record){.syscall = {.head = {.kind = RECORD_syscall,
								    .time_ns = m->c.t.now_ns,
								    .tid = FRONT,
								    .pid = FRONT},
							   .nr = nr,
							   .duration_ns = duration_ns,
							   .file = file}});
}

/* FRONT syncs a file twice, asks BACK, whose answer it waits for, and answers. */
static void worked_make(struct made *m)
{
	struct chain *c = &m->c;

	made_begin(m);
	moves(c, &c->client, false);
	moves(c, &c->front, true);
	for (int i = 0; i < 2; i++) {
		c->t.now_ns += 600;
		calls(m, FSYNC, 100 + (u64)i);
	}
	moves(c, &c->front_out, false);
	moves(c, &c->back, true);
	moves(c, &c->back, false);
	c->t.now_ns += 1000;
	calls(m, RECVFROM, 700);
	moves(c, &c->front_out, true);
	moves(c, &c->front, false);
	moves(c, &c->client, true);
	made_end(m);
	CHECK_EQ(vec_push(&m->p->facts.fds,
			  (struct fact_fd){
				  .pid = FRONT,
				  .file = {.key = FILE_KEY, .dev = 8, .kind = FILE_KIND_regular},
				  .path = "/srv/wal"}),
		 0);
	m->s.chooser = chooser_new();
}

/* The first row of what a span did in the kernel. */
static const struct attribute *row_of(const struct received_span *span)
{
	const struct attribute *rows = found(&span->attributes, "fathom.kernel");

	return rows && rows->count ? rows->items[0].items : NULL;
}

TEST(what_threads_did_in_the_kernel_is_told_of_who_had_it)
{
	const struct received_span *spans;
	struct chooser *chooser;
	struct made m;

	worked_make(&m);
	chooser = m.s.chooser;
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	spans = m.s.batch.data;
	CHECK_EQ(m.s.batch.count, 7); /* the first ones of two operations are samples */
	CHECK_EQ(m.s.kernel, 3);
	CHECK_STR(row_of(&spans[1])[1].string, "fsync");
	CHECK_EQ(row_of(&spans[1])[2].integer, 2);
	CHECK_STR(row_of(&spans[2])[1].string, "recvfrom");
	CHECK(!row_of(&spans[0]) && !row_of(&spans[3]));
	CHECK_STR(text(&spans[1], "fathom.kernel.why"), "sample");
	CHECK_STR(text(&spans[2], "fathom.kernel.why"), "sample");
	CHECK_STR(text(&spans[0], "fathom.kernel.why"), "");
	CHECK_STR(spans[4].name, "fsync");
	CHECK_EQ(received_duration_ns(&spans[4]), 101); /* the longest first */
	CHECK(spans[4].parent_id == spans[1].span_id && spans[5].parent_id == spans[1].span_id);
	CHECK_STR(text(&spans[4], "fd.name"), "/srv/wal");
	CHECK_EQ(number(&spans[4], "thread.id"), FRONT);
	CHECK(spans[6].parent_id == spans[2].span_id);
	CHECK(spans_is_kernel(&spans[6]));
	/* another one within ten seconds has the rows alone */
	spans_begin(&m.s, &chunk);
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	CHECK_EQ(m.s.batch.count, 4);
	CHECK_STR(row_of(&m.s.batch.data[1])[1].string, "fsync");
	made_free(&m);
	chooser_free(chooser);
}

TEST(kernel_spans_of_a_request_with_a_slow_span_are_stored)
{
	const struct chooser_rule rule = {.name = "back:6379", .slow_ns = 1};
	struct chooser *chooser;
	struct made m;

	worked_make(&m);
	chooser = m.s.chooser;
	chooser_rules_set(chooser, &rule, 1);
	for (int i = 0; i < 2; i++) {
		spans_begin(&m.s, &chunk);
		CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
		CHECK_EQ(m.s.batch.count, 7);
	}
	CHECK_STR(text(&m.s.batch.data[1], "fathom.kernel.why"), "trace");
	CHECK_STR(text(&m.s.batch.data[2], "fathom.kernel.why"), "slow");
	CHECK_STR(text(&m.s.batch.data[3], "fathom.kernel.why"), "slow");
	made_free(&m);
	chooser_free(chooser);
}

TEST(limits_hold_for_kernel_spans_of_requests)
{
	struct chooser *chooser;
	struct made m;

	worked_make(&m);
	chooser = m.s.chooser;
	chooser_grant(chooser, CHOSEN_SLOW, CHOOSER_BURST / 2 - 1, chunk.end_ns);
	CHECK_EQ(spans_add_request(&m.s, &m.r, &m.r.traces.data[0], &m.others), 0);
	CHECK_EQ(m.s.batch.count, 5);
	CHECK_EQ(m.s.kernel, 1);
	CHECK_EQ(m.s.kernel_left_out, 2);
	made_free(&m);
	chooser_free(chooser);
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
