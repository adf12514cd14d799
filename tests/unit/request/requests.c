/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of requests: which spans they have, below which, with which ids and times. */
#include "request/requests.h"

#include "chain.h"

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

/* The sums of disjoint times are those of all. */
TEST(each_request_is_learned_once)
{
	struct learned all = {0}, parts = {0};
	struct chain c;
	struct made m;

	chain_begin(&c);
	for (int i = 0; i < 5; i++)
		chain_ask(&c, 1 + i % 2);
	made_of(&m, &c);
	CHECK_EQ(requests_learn(&m.r, 0, 0, &all), 0);
	CHECK(all.rows.count > 3);
	for (u64 from_ns = 0; from_ns < c.t.now_ns + 7000; from_ns += 7000)
		CHECK_EQ(requests_learn(&m.r, from_ns, from_ns + 7000, &parts), 0);
	learned_sort(&all);
	learned_sort(&parts);
	CHECK_EQ(parts.rows.count, all.rows.count);
	CHECK_EQ(memcmp(parts.rows.data, all.rows.data, all.rows.count * sizeof(*all.rows.data)),
		 0);
	learned_free(&all);
	learned_free(&parts);
	made_free(&m);
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
