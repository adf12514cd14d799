/* SPDX-License-Identifier: Apache-2.0 */
/* Each request of a recording that goes on is decided once, whatever windows are looked at. */
#include "up/decider.h"

#include "tests/unit/request/chain.h"

#define SECOND_NS 1000000000ull
#define HEAD 7 /* records that name threads and sockets */
#define BEFORE_NS (2 * SECOND_NS)

struct passing {
	const struct chain *c;
	u64 bytes_from_ns, bytes_to_ns; /* byte ranges are recorded then; 0: always */
	u64 gap_from_ns, gap_to_ns;	/* records before its end may lie in it; 0: there is none */
	struct decider d;
	struct map seen; /* ids of spans that were decided */
	size_t spans, requests, open, twice, stands_for;
};

static void filter_apply(struct partial *p, u64 time_ns, u32 flags)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = time_ns},
				       .flags = FILTER_DETAIL | FILTER_BYTES_TURNS | flags};

	CHECK_EQ(partial_apply(p, &filter.head), 0);
}

static void gap_apply(struct partial *p, u64 from_ns, u64 to_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = to_ns},
				 .begin_ns = from_ns};

	CHECK_EQ(partial_apply(p, &gap.head), 0);
}

static bool has_bytes(const struct passing *p, u64 time_ns)
{
	return !p->bytes_to_ns || (time_ns >= p->bytes_from_ns && time_ns < p->bytes_to_ns);
}

/* The records of [from_ns, to_ns), behind those of the head. */
static struct partial *window_map(const struct passing *passing, u64 from_ns, u64 to_ns)
{
	const struct chain *c = passing->c;
	struct partial *p = partial_new(&(struct partial_options){.spans = true});
	u64 before_ns = 0;

	CHECK(p != NULL);
	partial_cover(p, 1, to_ns);
	for (size_t i = 0; i < c->t.records.count; i++) {
		const union talk_record *r = &c->t.records.data[i];

		if (passing->gap_to_ns > before_ns && passing->gap_to_ns <= r->head.time_ns)
			gap_apply(p, passing->gap_from_ns, passing->gap_to_ns);
		before_ns = r->head.time_ns;
		if (i < HEAD || (r->head.time_ns >= from_ns && r->head.time_ns < to_ns &&
				 has_bytes(passing, r->head.time_ns)))
			apply(p, r);
	}
	if (passing->bytes_to_ns) {
		filter_apply(p, 1, FILTER_BYTES);
		filter_apply(p, passing->bytes_from_ns, 0);
		filter_apply(p, passing->bytes_to_ns, FILTER_BYTES);
	}
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static void decision_count(struct passing *p, const struct requests *r,
			   const struct decision *decision)
{
	p->requests += decision->traces.count;
	p->open += decision->open;
	for (size_t i = 0; i < decision->traces.count; i++) {
		const struct request_trace *t = &r->traces.data[decision->traces.data[i]];

		for (size_t n = t->first; n < t->end; n++) {
			u64 id = request_span_id(r, &r->spans.data[n]);

			if (decider_has(&p->d, id))
				continue;
			p->spans++;
			p->twice += map_get(&p->seen, id) != NULL;
			CHECK_EQ(map_put(&p->seen, id, PRESENT), 0);
		}
	}
}

/* Looks at what was recorded until then, as far back as is needed. */
static void pass(struct passing *p, u64 to_ns, u64 wait_ns, u32 own)
{
	u64 undecided_ns = p->d.undecided_ns;
	u64 from_ns = undecided_ns > BEFORE_NS ? undecided_ns - BEFORE_NS : 0;
	struct partial *window = window_map(p, from_ns, to_ns);
	struct request_host host = {.p = window, .name = "host", .boot = 7};
	struct requests r;
	struct decider_input in = {
		.r = &r, .p = window, .to_ns = to_ns, .wait_ns = wait_ns, .own = {own}};
	struct decision decision = {0};

	CHECK_EQ(requests_make(&r, &host, 1, REQUEST_PROBABILITY_PPM), 0);
	CHECK_EQ(decider_own_find(&p->d, &in), 0);
	CHECK_EQ(decider_choose(&p->d, &in, &decision), 0);
	for (size_t i = 0; i < decision.traces.count; i++)
		p->stands_for += decider_stands_for(&in, &r.traces.data[decision.traces.data[i]]);
	decision_count(p, &r, &decision);
	CHECK_EQ(decider_done(&p->d, &in, &decision, from_ns), 0);
	vec_free(&decision.traces);
	requests_free(&r);
	partial_free(window);
}

static void passing_free(struct passing *p)
{
	decider_free(&p->d);
	map_free(&p->seen);
}

/* So many requests, one each second, each with two calls. */
static void asks(struct chain *c, int count)
{
	for (int i = 0; i < count; i++) {
		chain_ask(c, 2);
		c->t.now_ns += SECOND_NS;
	}
}

/* A request that takes so long, with a call in the middle. */
static void long_ask(struct chain *c, u64 ns)
{
	moves(c, &c->client, false);
	moves(c, &c->front, true);
	c->t.now_ns += ns / 2;
	moves(c, &c->front_out, false);
	moves(c, &c->back, true);
	moves(c, &c->back, false);
	moves(c, &c->front_out, true);
	c->t.now_ns += ns / 2;
	moves(c, &c->front, false);
	moves(c, &c->client, true);
}

TEST(each_request_is_decided_once)
{
	static const u64 periods_s[] = {1, 3, 7, 10, 25};

	for (size_t n = 0; n < sizeof(periods_s) / sizeof(*periods_s); n++) {
		struct passing p = {0};
		struct chain c;

		chain_begin(&c);
		asks(&c, 5);
		long_ask(&c, 30 * SECOND_NS);
		asks(&c, 40);
		p.c = &c;
		for (u64 to_ns = SECOND_NS; to_ns < c.t.now_ns + 40 * SECOND_NS;
		     to_ns += periods_s[n] * SECOND_NS)
			pass(&p, to_ns, DECIDER_WAIT_NS, 0);
		CHECK_EQ(p.requests, 46);
		CHECK_EQ(p.stands_for, 0);
		CHECK_EQ(p.spans, 45 * 6 + 4);
		CHECK_EQ(p.twice, 0);
		CHECK_EQ(p.open, 0);
		passing_free(&p);
		vec_free(&c.t.records);
	}
}

/* It is not known that it ended before ten seconds have passed, unless nothing comes any more. */
TEST(a_request_waits_after_its_end)
{
	struct passing p = {0};
	struct chain c;

	chain_begin(&c);
	asks(&c, 1);
	p.c = &c;
	pass(&p, 9 * SECOND_NS, DECIDER_WAIT_NS, 0);
	CHECK_EQ(p.requests, 0);
	pass(&p, 9 * SECOND_NS, 0, 0);
	CHECK_EQ(p.requests, 1);
	pass(&p, 30 * SECOND_NS, DECIDER_WAIT_NS, 0);
	CHECK_EQ(p.requests, 1);
	passing_free(&p);
	vec_free(&c.t.records);
}

/* Another life knows when what was decided, not which spans. */
TEST(a_restart_decides_nothing_again)
{
	struct passing p = {0};
	struct chain c;

	chain_begin(&c);
	asks(&c, 40);
	p.c = &c;
	for (u64 to_ns = SECOND_NS; to_ns < 60 * SECOND_NS; to_ns += 4 * SECOND_NS) {
		u64 decided_ns = p.d.decided_ns, undecided_ns = p.d.undecided_ns;

		decider_free(&p.d);
		p.d = (struct decider){.decided_ns = decided_ns, .undecided_ns = undecided_ns};
		pass(&p, to_ns, DECIDER_WAIT_NS, 0);
	}
	CHECK_EQ(p.requests, 40);
	CHECK_EQ(p.twice, 0);
	passing_free(&p);
	vec_free(&c.t.records);
}

TEST(a_request_that_is_open_for_long_is_decided_without_its_end)
{
	struct passing p = {0};
	struct chain c;

	chain_begin(&c);
	chain_ask(&c, 1);
	moves(&c, &c.client, false);
	moves(&c, &c.front, true);
	p.c = &c;
	for (u64 to_ns = 10 * SECOND_NS; to_ns < 120 * SECOND_NS; to_ns += 10 * SECOND_NS) {
		pass(&p, to_ns, DECIDER_WAIT_NS, 0);
		CHECK_EQ(p.requests,
			 (to_ns > DECIDER_WAIT_NS) + (to_ns > DECIDER_OPEN_NS + SECOND_NS));
	}
	CHECK_EQ(p.open, 1);
	CHECK_EQ(p.twice, 0);
	passing_free(&p);
	vec_free(&c.t.records);
}

/* Others may be the end of one whose begin was not seen, or have calls that were not. */
TEST(where_byte_ranges_are_recorded_in_turns_only_requests_within_a_turn_are_decided)
{
	struct passing p = {.bytes_from_ns = 10 * SECOND_NS, .bytes_to_ns = 20 * SECOND_NS};
	struct chain c;

	chain_begin(&c);
	p.c = &c;
	while (c.t.now_ns < 40 * SECOND_NS) {
		u64 begun_ns = c.t.now_ns;

		chain_ask(&c, 2);
		c.t.now_ns = begun_ns + SECOND_NS;
	}
	c.t.now_ns = 10 * SECOND_NS + DECIDER_LEAD_NS / 2; /* too soon */
	chain_ask(&c, 1);
	c.t.now_ns = 20 * SECOND_NS - 1000; /* its end is not seen */
	long_ask(&c, SECOND_NS);
	for (u64 to_ns = SECOND_NS; to_ns < 120 * SECOND_NS; to_ns += 3 * SECOND_NS)
		pass(&p, to_ns, DECIDER_WAIT_NS, 0);
	CHECK(p.requests >= 9 && p.requests <= 10);
	CHECK_EQ(p.spans, p.requests * 6);
	CHECK_EQ(p.stands_for, p.requests * 33); /* 30 s over the 0.9 s in which they may begin */
	CHECK_EQ(p.open, 0);
	CHECK_EQ(p.twice, 0);
	passing_free(&p);
	vec_free(&c.t.records);
}

/* Where a part that records was killed, the server may be missing, or the caller. */
TEST(a_request_in_a_gap_is_none)
{
	struct passing p = {.gap_from_ns = 5 * SECOND_NS + SECOND_NS / 2,
			    .gap_to_ns = 7 * SECOND_NS - DECIDER_LEAD_NS / 2};
	struct chain c;

	chain_begin(&c);
	asks(&c, 10);
	p.c = &c;
	pass(&p, 30 * SECOND_NS, DECIDER_WAIT_NS, 0);
	CHECK_EQ(p.requests, 8); /* one is in it, and one less behind it than DECIDER_LEAD_NS */
	CHECK_EQ(p.spans, 8 * 6);
	passing_free(&p);
	vec_free(&c.t.records);
}

/* Of requests as they come: kinds by how long they take and by what they call. */
TEST(requests_of_one_kind_are_alike)
{
	static const int calls[] = {2, 2, 9};
	u64 kinds[4];
	struct partial *window;
	struct passing p = {0};
	struct requests r;
	struct chain c;

	chain_begin(&c);
	p.c = &c;
	for (int i = 0; i < 3; i++)
		chain_ask(&c, calls[i]);
	long_ask(&c, SECOND_NS);
	window = window_map(&p, 0, c.t.now_ns + 1);
	CHECK_EQ(requests_make(&r, &(struct request_host){.p = window, .name = "host", .boot = 7},
			       1, REQUEST_PROBABILITY_PPM),
		 0);
	CHECK_EQ(r.traces.count, 4);
	for (int i = 0; i < 4; i++)
		kinds[i] = decider_kind(&(struct decider_input){.r = &r}, &r.traces.data[i]);
	CHECK(kinds[0] == kinds[1]);
	CHECK(kinds[2] != kinds[0] && kinds[3] != kinds[0] && kinds[3] != kinds[2]);
	requests_free(&r);
	partial_free(window);
	vec_free(&c.t.records);
}

/* Three requests, all in the first pass, where one of the processes is this program, or none. */
static void three_pass(struct passing *p, struct chain *c, u32 own)
{
	chain_begin(c);
	asks(c, 3);
	p->c = c;
	pass(p, 30 * SECOND_NS, DECIDER_WAIT_NS, own);
}

/* Neither those that this program makes, nor those that it serves. Others may ask it within theirs.
 */
TEST(requests_of_this_program_are_none)
{
	static const u32 own[] = {CALLER, FRONT, BACK};

	for (size_t i = 0; i < 3; i++) {
		struct passing p = {0};
		struct chain c;

		three_pass(&p, &c, own[i]);
		CHECK_EQ(p.requests, own[i] == BACK ? 3 : 0);
		passing_free(&p);
		vec_free(&c.t.records);
	}
}

/* One that was killed, or ran before, is none of the parts; its program says what it was. */
TEST(requests_of_an_earlier_part_are_none)
{
	static const char *const names[] = {"fathom", "fathom-serve", "fathom-x"};

	for (size_t i = 0; i < 3; i++) {
		struct passing p = {0};
		struct chain c;
		struct record_thread *front;

		chain_begin(&c);
		front = &c.t.records.data[1].thread;
		CHECK_EQ(front->head.tid, FRONT);
		front->comm_len = (u8)strlen(names[i]);
		memcpy(front->comm, names[i], front->comm_len);
		asks(&c, 3);
		p.c = &c;
		pass(&p, 30 * SECOND_NS, DECIDER_WAIT_NS, 0);
		CHECK_EQ(p.requests, i < 2 ? 0 : 3);
		passing_free(&p);
		vec_free(&c.t.records);
	}
}

/* Nobody reads a request to a part that is killed; where parts serve was seen before. */
TEST(a_request_that_no_part_reads_is_none)
{
	static const u32 own[] = {0, FRONT};

	for (size_t i = 0; i < 2; i++) {
		struct side other = {5, CALLER, CALLER_PORT + 1, FRONT_PORT, FILE_MADE, {0}};
		struct side elsewhere = {6, CALLER, CALLER_PORT + 2, BACK_PORT, FILE_MADE, {0}};
		struct passing p = {0};
		struct chain c;

		three_pass(&p, &c, own[i]);
		c.t.now_ns = 100 * SECOND_NS;
		side_tell(&c, &other);
		side_tell(&c, &elsewhere);
		moves(&c, &other, false);
		moves(&c, &elsewhere, false);
		pass(&p, 200 * SECOND_NS, DECIDER_WAIT_NS, own[i]);
		CHECK_EQ(p.requests, own[i] ? 1 : 3 + 2);
		CHECK_EQ(p.open, own[i] ? 1 : 2);
		passing_free(&p);
		vec_free(&c.t.records);
	}
}

TEST_MAIN()
