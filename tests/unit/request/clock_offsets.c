/* SPDX-License-Identifier: Apache-2.0 */
/* How the clocks of two hosts differ, found by messages between them: offset and drift are known.
 */
#include "request/clock_offsets.h"

#include "request/requests.h"
#include "two_hosts.h"

#define WAY_NS 20000  /* of a message */
#define WORK_NS 10000 /* of the server */
#define MESSAGES 2000

struct found {
	struct two_hosts h;
	struct connections connections;
	struct clock_offsets offsets;
};

static void found_make(struct found *f)
{
	two_hosts_map(&f->h);
	CHECK_EQ(connections_find(&f->connections, f->h.hosts, 2), 0);
	CHECK_EQ(clock_offsets_find(&f->offsets, &f->connections, NULL), 0);
}

static void found_free(struct found *f)
{
	clock_offsets_free(&f->offsets);
	connections_free(&f->connections);
	two_hosts_free(&f->h);
}

/* Whether the interval at a time of the caller's clock has the truth, and how wide it is. */
static s64 width_at(const struct found *f, u64 time_ns)
{
	s64 truth = (s64)(server_ns(&f->h, time_ns) - time_ns);
	struct clock_interval i, back;

	CHECK(clock_offset_at(&f->offsets, 0, 1, time_ns, &i));
	CHECK(i.min_ns <= truth && truth <= i.max_ns);
	CHECK(clock_offset_at(&f->offsets, 1, 0, server_ns(&f->h, time_ns), &back));
	CHECK(back.min_ns <= -truth && -truth <= back.max_ns);
	return i.max_ns - i.min_ns;
}

/* As wide as the way there and back, with what the threads did before they sent. */
#define WIDTH_NS (2 * WAY_NS + WORK_NS + 5000 + 3000)

static void offsets_hold(s64 offset_ns, s64 drift_ppm)
{
	struct found f = {0};

	two_hosts_begin(&f.h, offset_ns, drift_ppm);
	for (int i = 0; i < MESSAGES / 2; i++)
		two_hosts_ask(&f.h, WAY_NS, WORK_NS);
	found_make(&f);
	CHECK_EQ(f.connections.list.count, 1);
	CHECK_EQ(f.offsets.pairs.count, 1);
	CHECK_EQ(f.offsets.contradictory, 0);
	CHECK(f.offsets.list.count >= MESSAGES / CLOCK_STRETCH_MESSAGES - 1);
	for (u64 at = FIRST_NS + 100000; at < f.h.now_ns; at += 1000000)
		CHECK(width_at(&f, at) <= WIDTH_NS);
	/* away from all messages an interval grows by the drift that may be, and still holds */
	CHECK(width_at(&f, f.h.now_ns + 1000000000) > 200000);
	width_at(&f, f.h.now_ns + 1000000000);
	found_free(&f);
}

TEST(offsets)
{
	offsets_hold(0, 0);
	offsets_hold(37000000, 0);
	offsets_hold(-900000000, 0);
	offsets_hold(86400000000000, 0);
}

TEST(drifts)
{
	offsets_hold(37000000, 50);
	offsets_hold(-37000000, -50);
	offsets_hold(5, 90);
}

/* One quick message each way makes the interval narrow, for as long as the drift allows. */
TEST(the_quickest_message_decides)
{
	struct found f = {0};
	u64 quick_ns;

	two_hosts_begin(&f.h, 1234567, 0);
	for (int i = 0; i < 100; i++)
		two_hosts_ask(&f.h, 500000, WORK_NS);
	two_hosts_ask(&f.h, 1000, 1000);
	quick_ns = f.h.now_ns;
	for (int i = 0; i < 100; i++)
		two_hosts_ask(&f.h, 500000, WORK_NS);
	found_make(&f);
	CHECK(width_at(&f, quick_ns) < 30000);
	CHECK(width_at(&f, quick_ns + 20000000) < 40000);
	CHECK(width_at(&f, quick_ns - 20000000) < 40000);
	found_free(&f);
}

/* Messages in one direction alone bound one side: nothing is known. */
TEST(one_direction)
{
	struct found f = {0};
	struct clock_interval i;

	two_hosts_begin(&f.h, 1000000, 0);
	for (int n = 0; n < 100; n++) {
		two_hosts_move(&f.h, false, false, 5000);
		two_hosts_move(&f.h, true, true, WAY_NS);
	}
	found_make(&f);
	CHECK_EQ(f.offsets.pairs.count, 0);
	CHECK(!clock_offset_at(&f.offsets, 0, 1, FIRST_NS, &i));
	CHECK(clock_offset_at(&f.offsets, 1, 1, FIRST_NS, &i));
	CHECK_EQ(i.max_ns, 0);
	found_free(&f);
}

/* A clock that is set does not spoil what is known before it and behind it. */
TEST(a_clock_is_set)
{
	struct found f = {0};
	u64 set_ns;

	two_hosts_begin(&f.h, 1000000, 0);
	for (int i = 0; i < 500; i++)
		two_hosts_ask(&f.h, WAY_NS, WORK_NS);
	set_ns = f.h.now_ns;
	f.h.offset_ns = 3000000;
	for (int i = 0; i < 500; i++)
		two_hosts_ask(&f.h, WAY_NS, WORK_NS);
	found_make(&f);
	CHECK(width_at(&f, f.h.now_ns - 1000000) <= WIDTH_NS);
	f.h.offset_ns = 1000000;
	CHECK(width_at(&f, set_ns - 10000000) <= WIDTH_NS);
	found_free(&f);
}

/* A request over two hosts is one trace, on one line of time, whatever the clocks say. */
TEST(a_trace_over_two_hosts)
{
	struct two_hosts h;
	struct requests r;

	two_hosts_begin(&h, -700000000, 0);
	for (int i = 0; i < 50; i++)
		two_hosts_ask(&h, WAY_NS, WORK_NS);
	two_hosts_map(&h);
	CHECK_EQ(requests_make(&r, h.hosts, 2, REQUEST_PROBABILITY_PPM), 0);
	CHECK_EQ(r.traces.count, 50);
	CHECK_EQ(r.impossible, 0);
	for (size_t i = 0; i < r.traces.count; i++) {
		const struct request_trace *t = &r.traces.data[i];
		s64 shift = request_shift(&r, &r.spans.data[t->first + 1]);

		CHECK_EQ(t->end - t->first, 2);
		CHECK_EQ(request_shift(&r, &r.spans.data[t->first]), 0);
		CHECK(shift > 700000000 - WIDTH_NS && shift < 700000000 + WIDTH_NS);
		CHECK(t->end_ns - t->begin_ns < 2 * WAY_NS + WORK_NS + WIDTH_NS);
	}
	requests_free(&r);
	two_hosts_free(&h);
}

/* A request whose server's clock was wrong for that time is told, and moves nothing. */
TEST(what_cannot_be)
{
	struct two_hosts h;
	struct requests r;
	size_t flagged = 0;

	two_hosts_begin(&h, 5000000, 0);
	h.calls = true;
	for (int i = 0; i < 200; i++) {
		h.now_ns += 3000000; /* so that no clock goes back */
		h.offset_ns -= i == 100 ? 1000000 : 0;
		two_hosts_ask(&h, WAY_NS, WORK_NS);
		h.offset_ns += i == 100 ? 1000000 : 0;
	}
	two_hosts_map(&h);
	CHECK_EQ(requests_make(&r, h.hosts, 2, REQUEST_PROBABILITY_PPM), 0);
	CHECK_EQ(r.offsets.contradictory, 1);
	CHECK_EQ(r.offsets.pairs.count, 1);
	CHECK_EQ(r.traces.count, 200);
	CHECK_EQ(r.impossible, 1);
	for (size_t i = 0; i < r.exchanges.count; i++)
		flagged += (r.exchanges.data[i].flags & EXCHANGE_IMPOSSIBLE) != 0;
	CHECK_EQ(flagged, 1);
	requests_free(&r);
	two_hosts_free(&h);
}

/* Where calls are recorded, an interval is as wide as the ways there and back. */
TEST(calls_that_send_are_known)
{
	struct two_hosts h;
	struct requests r;
	struct clock_interval i;

	two_hosts_begin(&h, 5000000, 0);
	h.calls = true;
	for (int n = 0; n < 200; n++)
		two_hosts_ask(&h, WAY_NS, 3000000);
	two_hosts_map(&h);
	CHECK_EQ(requests_make(&r, h.hosts, 2, REQUEST_PROBABILITY_PPM), 0);
	CHECK(clock_offset_at(&r.offsets, 0, 1, FIRST_NS + 300000000, &i));
	CHECK(i.min_ns <= 5000000 && i.max_ns >= 5000000);
	CHECK(i.max_ns - i.min_ns < 2 * (WAY_NS + SEND_NS) + 20000);
	requests_free(&r);
	two_hosts_free(&h);
}

/* The address of the caller is translated on the way: both ends are found all the same. */
TEST(behind_nat)
{
	struct found f = {0};

	two_hosts_begin(&f.h, 0, 0);
	for (size_t i = 0; i < f.h.server.records.count; i++) {
		struct record_socket *s = &f.h.server.records.data[i].socket;

		if (s->head.kind == RECORD_socket) {
			address_set(&s->remote_lo, 99);
			s->remote_port = 61000;
		}
	}
	for (int i = 0; i < 20; i++)
		two_hosts_ask(&f.h, WAY_NS, WORK_NS);
	found_make(&f);
	CHECK_EQ(f.connections.list.count, 1);
	CHECK_EQ(f.connections.list.data[0].ambiguous, 1);
	CHECK_EQ(f.connections.list.data[0].server.key, SERVER_KEY);
	CHECK(width_at(&f, FIRST_NS + 100000) <= WIDTH_NS);
	found_free(&f);
}

/* 127.0.0.1 of one host is not that of another one. */
TEST(loopback_is_of_each_host)
{
	struct found f = {0};

	two_hosts_begin(&f.h, 0, 0);
	for (int server = 0; server < 2; server++) {
		struct talk *t = server ? &f.h.server : &f.h.caller;

		for (size_t i = 0; i < t->records.count; i++) {
			struct record_socket *s = &t->records.data[i].socket;
			u8 bytes[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};

			if (s->head.kind != RECORD_socket)
				continue;
			memcpy(&s->local_lo, bytes, 8);
			memcpy(&s->remote_lo, bytes, 8);
		}
	}
	two_hosts_ask(&f.h, WAY_NS, WORK_NS);
	found_make(&f);
	CHECK_EQ(f.connections.list.count, 2);
	found_free(&f);
}

TEST_MAIN()
