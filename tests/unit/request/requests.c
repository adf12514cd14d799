/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of requests: which spans they have, below which, with which ids and times. */
#include "request/requests.h"

#include "talk.h"

#define FRONT 200
#define BACK 300
#define FRONT_PORT 80
#define BACK_PORT 6379

/* One end of a connection: whose socket it is. */
struct side {
	u64 key;
	u32 tid;
	u16 local, remote;
	u16 flags;
	u64 at[2]; /* bytes sent, received */
};

/* A client asks FRONT, which asks BACK. */
struct chain {
	struct talk t;
	struct side client, front, front_out, back;
};

static void side_tell(struct chain *c, const struct side *s)
{
	u64 address = 0;
	u8 bytes[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};
	union talk_record r = {
		.socket = {.head = {.kind = RECORD_socket,
				    .time_ns = c->t.now_ns,
				    .tid = s->tid,
				    .pid = s->tid},
			   .file = {.key = s->key, .kind = FILE_KIND_tcp, .flags = s->flags},
			   .netns = 1,
			   .family = 2,
			   .protocol = 6}};

	memcpy(&address, bytes, 8);
	r.socket.local_port = s->local;
	r.socket.remote_port = s->remote;
	r.socket.local_lo = r.socket.remote_lo = address;
	talk_add(&c->t, &r);
}

static void chain_begin(struct chain *c)
{
	*c = (struct chain){.client = {1, CALLER, CALLER_PORT, FRONT_PORT, FILE_MADE, {0}},
			    .front = {2, FRONT, FRONT_PORT, CALLER_PORT, FILE_ACCEPTED, {0}},
			    .front_out = {3, FRONT, 50000, BACK_PORT, FILE_MADE, {0}},
			    .back = {4, BACK, BACK_PORT, 50000, FILE_ACCEPTED, {0}}};
	c->t.now_ns = 1000;
	talk_thread(&c->t, CALLER, "curl");
	talk_thread(&c->t, FRONT, "front");
	talk_thread(&c->t, BACK, "back");
	side_tell(c, &c->client);
	side_tell(c, &c->front);
	side_tell(c, &c->front_out);
	side_tell(c, &c->back);
}

static void moves(struct chain *c, struct side *s, bool receives)
{
	union talk_record r = {.bytes = {.head = {.kind = RECORD_bytes,
						  .time_ns = c->t.now_ns += 1000,
						  .tid = s->tid,
						  .pid = s->tid},
					 .direction = receives ? BYTES_RECEIVED : BYTES_SENT,
					 .from = s->at[receives],
					 .length = 10,
					 .file = {.key = s->key, .kind = FILE_KIND_tcp}}};

	s->at[receives] += 10;
	talk_add(&c->t, &r);
}

/* One request, for which FRONT asks BACK so often. */
static void chain_ask(struct chain *c, int calls)
{
	moves(c, &c->client, false);
	moves(c, &c->front, true);
	for (int i = 0; i < calls; i++) {
		moves(c, &c->front_out, false);
		moves(c, &c->back, true);
		moves(c, &c->back, false);
		moves(c, &c->front_out, true);
	}
	moves(c, &c->front, false);
	moves(c, &c->client, true);
}

struct made {
	struct partial *p;
	struct request_host host;
	struct requests r;
};

static void made_of(struct made *m, const struct chain *c)
{
	*m = (struct made){.p = talk_map(&c->t, 0, c->t.records.count)};
	m->host = (struct request_host){.p = m->p, .name = "host", .boot = 7};
	CHECK_EQ(partial_finish(m->p), 0);
	CHECK_EQ(requests_make(&m->r, &m->host, 1, REQUEST_PROBABILITY_PPM), 0);
}

static void made_free(struct made *m)
{
	requests_free(&m->r);
	partial_free(m->p);
}

TEST(one_trace_for_a_request)
{
	struct chain c;
	struct made m;
	u64 parent = 0;

	chain_begin(&c);
	chain_ask(&c, 2);
	made_of(&m, &c);
	CHECK_EQ(m.r.traces.count, 1);
	CHECK_EQ(m.r.traces.data[0].end - m.r.traces.data[0].first, 6);
	CHECK_EQ(m.r.traces.data[0].flags, 0);
	CHECK_EQ(m.r.traces.data[0].begin_ns, 2000);
	for (size_t i = 0; i < 6; i++) {
		const struct request_span *s = &m.r.spans.data[i];
		const struct exchange *x = &m.r.exchanges.data[s->of];

		CHECK_EQ(s->kind, i % 2 ? REQUEST_SERVER : REQUEST_CLIENT);
		if (i == 0)
			CHECK_EQ(request_span_parent(&m.r, s), 0);
		if (i == 1)
			parent = request_span_id(&m.r, s);
		if (i == 2 || i == 4)
			CHECK(request_span_parent(&m.r, s) == parent);
		CHECK_EQ(x->caller.first_tid, i < 2 ? CALLER : FRONT);
	}
	CHECK_STR(request_operation(&m.r, m.r.spans.data[0].of)->name, "front:80");
	CHECK_STR(request_operation(&m.r, m.r.spans.data[2].of)->name, "back:6379");
	CHECK_STR(request_span_service(&m.r, m.r.spans.data[0].of, false), "curl");
	made_free(&m);
	vec_free(&c.t.records);
}

/* Threads did something for the request, or nobody did: the sum is the length. */
TEST(times_sum_up)
{
	struct chain c;
	struct made m;

	chain_begin(&c);
	for (int i = 0; i < 5; i++)
		chain_ask(&c, 1);
	made_of(&m, &c);
	CHECK_EQ(m.r.traces.count, 5);
	for (size_t i = 0; i < m.r.spans.count; i++) {
		const struct request_span *s = &m.r.spans.data[i];
		struct request_bounds b = request_bounds_of(&m.r, s);
		u32 threads;
		struct split time = request_span_time(&m.r, s->of, s->kind == REQUEST_SERVER,
						      &threads);

		CHECK_EQ(threads, 1);
		CHECK_EQ(split_total(&time), b.end_ns - b.begin_ns);
	}
	made_free(&m);
	vec_free(&c.t.records);
}

/* A request that is sent waits until the server reads it, and so does an answer. */
TEST(waits_unread)
{
	struct chain c;
	struct made m;

	chain_begin(&c);
	moves(&c, &c.client, false);
	c.t.now_ns += 5000; /* the server is busy */
	moves(&c, &c.front, true);
	moves(&c, &c.front, false);
	c.t.now_ns += 2000;
	moves(&c, &c.client, true);
	moves(&c, &c.client, false); /* a request in two sends waits from the second one on */
	c.t.now_ns += 3000;
	moves(&c, &c.client, false);
	moves(&c, &c.front, true);
	moves(&c, &c.front, true);
	made_of(&m, &c);
	CHECK_EQ(m.r.exchanges.count, 2);
	CHECK_EQ(request_unread_ns(&m.r, 0, false), 6000);
	CHECK_EQ(request_unread_ns(&m.r, 0, true), 3000);
	CHECK_EQ(request_unread_ns(&m.r, 1, false), 2000);
	CHECK_EQ(request_unread_ns(&m.r, 1, true), 0); /* it has no answer */
	made_free(&m);
	vec_free(&c.t.records);
}

/* A service that calls without a request does so for itself. */
TEST(a_call_for_no_request)
{
	struct chain c;
	struct made m;

	chain_begin(&c);
	chain_ask(&c, 1);
	c.t.now_ns += 1000000;
	moves(&c, &c.front_out, false);
	moves(&c, &c.back, true);
	moves(&c, &c.back, false);
	moves(&c, &c.front_out, true);
	made_of(&m, &c);
	CHECK_EQ(m.r.traces.count, 2);
	CHECK_EQ(m.r.traces.data[1].flags, TRACE_INSIDE);
	made_free(&m);
	vec_free(&c.t.records);
}

TEST(ids_are_of_what_is_recorded)
{
	struct chain c;
	struct made one, other;

	chain_begin(&c);
	chain_ask(&c, 3);
	made_of(&one, &c);
	made_of(&other, &c);
	CHECK_EQ(one.r.spans.count, other.r.spans.count);
	for (size_t i = 0; i < one.r.spans.count; i++) {
		CHECK(request_span_id(&one.r, &one.r.spans.data[i]) ==
		      request_span_id(&other.r, &other.r.spans.data[i]));
		for (size_t k = 0; k < i; k++)
			CHECK(request_span_id(&one.r, &one.r.spans.data[i]) !=
			      request_span_id(&one.r, &one.r.spans.data[k]));
	}
	CHECK_MEM(one.r.traces.data[0].id, other.r.traces.data[0].id, 16);
	made_free(&one);
	made_free(&other);
	vec_free(&c.t.records);
}

TEST(nothing_recorded)
{
	struct chain c = {0};
	struct made m;

	c.t.now_ns = 1000;
	talk_thread(&c.t, CALLER, "curl");
	made_of(&m, &c);
	CHECK_EQ(m.r.traces.count, 0);
	made_free(&m);
	vec_free(&c.t.records);
}

TEST_MAIN()
