/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests begin and end, and what answers them. */
#include "request/exchanges.h"

#include "seeds.h"
#include "talk.h"

/*
 * "from-to=from-to " for each exchange in the order of its bytes: request and answer in units of
 * ten bytes; a soft end is marked "~", a stream "S".
 */
static const char *told(const struct heard *h)
{
	static char text[512];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < h->list.count; i++) {
		const struct exchange *x = &h->list.data[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%llu-%llu=%llu-%llu%s%s ",
				       (unsigned long long)x->from / 10,
				       (unsigned long long)x->to / 10,
				       (unsigned long long)x->answer_from / 10,
				       (unsigned long long)x->answer_to / 10,
				       x->flags & EXCHANGE_SOFT_END ? "~" : "",
				       x->flags & EXCHANGE_STREAM ? "S" : "");
	}
	return text;
}

static const char *heard_of(const char *events, bool no_caller, bool no_server)
{
	struct talk t = {.no_caller = no_caller, .no_server = no_server};
	struct heard h;
	const char *text;

	talk_begin(&t);
	talk_say(&t, events);
	heard_make(&h, talk_map(&t, 0, t.records.count));
	text = told(&h);
	heard_free(&h);
	vec_free(&t.records);
	return text;
}

/* The times of the letters: the first one is at 2,000 ns, each later one 1,000 ns behind. */
TEST(one_request_and_its_answer)
{
	struct talk t = {0};
	struct heard h;
	const struct exchange *x;

	talk_begin(&t);
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-1=0-1 ");
	x = h.list.data;
	CHECK_EQ(x->caller.first_ns, 2000);
	CHECK_EQ(x->server.first_ns, 3000);
	CHECK_EQ(x->server.last_ns, 4000);
	CHECK_EQ(x->caller.last_ns, 5000);
	CHECK_EQ(x->caller.first_tid, CALLER);
	CHECK_EQ(x->server.last_tid, SERVER);
	CHECK(x->caller.process && x->server.process);
	CHECK(x->caller.process != x->server.process);
	CHECK_EQ(h.connections.list.count, 1);
	CHECK_EQ(h.connections.list.data[0].port, SERVER_PORT);
	CHECK_EQ(h.processes.list.data[x->server.process].pid, SERVER);
	heard_free(&h);
	vec_free(&t.records);
}

TEST(one_after_the_other)
{
	CHECK_STR(heard_of("CsScCsSc", false, false), "0-1=0-1 1-2=1-2 ");
	CHECK_STR(heard_of("CsScCsSc", true, false), "0-1=0-1 1-2=1-2 ");
	CHECK_STR(heard_of("CsScCsSc", false, true), "0-1=0-1 1-2=1-2 ");
}

TEST(a_request_in_two_sends_and_an_answer_in_two)
{
	CHECK_STR(heard_of("CsCsSScc", false, false), "0-2=0-2 ");
	CHECK_STR(heard_of("CsCsSScc", true, false), "0-2=0-2 ");
	CHECK_STR(heard_of("CsCsSScc", false, true), "0-2=0-2 ");
}

/* Read one by one: the serving end answers between its reads. */
TEST(a_pipeline_that_is_read_one_by_one)
{
	CHECK_STR(heard_of("CCCsSsSsSccc", false, false), "0-1=0-1 1-2=1-2 2-3=2-3 ");
	CHECK_STR(heard_of("CCCsSsSsSccc", true, false), "0-1=0-1 1-2=1-2 2-3=2-3 ");
}

/* Read together, and answered by as many sends, or by one. */
TEST(a_pipeline_that_is_read_together)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CCC");
	talk_bytes(&t, true, true, 30);
	talk_say(&t, "SSSccc");
	talk_say(&t, "CC");
	talk_bytes(&t, true, true, 20);
	talk_say(&t, "Sc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-1=0-1 1-2=1-2 2-3=2-3 3-4=3-4 4-5=3-4 ");
	CHECK_EQ(h.list.data[1].boundary, EXCHANGE_BY_SENDS);
	heard_free(&h);
	vec_free(&t.records);
}

/* A large request is read in other pieces than it was sent in. */
/* The head and the body of a message are read apart at times, and then together. */
TEST(a_request_in_two_sends_that_is_read_together)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CsCsScCC");
	talk_bytes(&t, true, true, 20);
	talk_say(&t, "Sc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-2=0-1 2-4=1-2 ");
	heard_free(&h);
	vec_free(&t.records);
}

TEST(pieces_that_do_not_match)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CCC");
	talk_bytes(&t, true, true, 15);
	talk_bytes(&t, true, true, 15);
	talk_say(&t, "Sc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-3=0-1 ");
	heard_free(&h);
	vec_free(&t.records);
}

/* The end of the call that sends may come after the answer was received. */
TEST(the_answer_is_received_before_the_send_returns)
{
	CHECK_STR(heard_of("sCScsCSc", false, false), "0-1=0-1 1-2=1-2 ");
	CHECK_STR(heard_of("CscSCscS", false, false), "0-1=0-1 1-2=1-2 ");
}

/* The server answers, and has read only a part. */
TEST(an_answer_before_the_request_is_whole)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CsSc");
	talk_bytes(&t, false, false, 100);
	talk_bytes(&t, true, true, 40);
	talk_say(&t, "S");
	talk_bytes(&t, true, true, 60);
	talk_say(&t, "c");
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-1=0-1 1-11=1-2 11-12=2-3 ");
	CHECK_EQ(h.list.data[1].server.first_ns, 7000);
	heard_free(&h);
	vec_free(&t.records);
}

TEST(a_greeting_is_no_answer)
{
	CHECK_STR(heard_of("ScCsSc", false, false), "0-1=1-2 ");
	CHECK_STR(heard_of("ScCsSc", true, false), "0-1=1-2 ");
	CHECK_STR(heard_of("Sc", false, false), "");
}

TEST(no_answer)
{
	CHECK_STR(heard_of("CsScCs", false, false), "0-1=0-1 1-2=0-0~ ");
	CHECK_STR(heard_of("CsScCs", false, true), "0-1=0-1 1-2=0-0~ ");
}

/* The next request on the connection shows that the one before is over, whatever became of it. */
TEST(a_lost_answer)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CsScCs");
	t.sent[1] += 10; /* an answer of which all records were lost */
	t.received[0] += 10;
	t.now_ns += 2000;
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_EQ(h.list.count, 3);
	CHECK(h.list.data[1].flags & EXCHANGE_SOFT_END);
	CHECK_EQ(h.list.data[2].answer_from, 20);
	heard_free(&h);
	vec_free(&t.records);
	t = (struct talk){0};
	talk_begin(&t);
	talk_say(&t, "Cs");
	t.sent[1] += 10;
	talk_say(&t, "c"); /* only its receipt was recorded */
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_EQ(h.list.count, 2);
	CHECK_STR(told(&h), "0-1=0-1~ 1-2=1-2 ");
	CHECK_EQ(h.list.data[0].server.last_ns, h.list.data[0].caller.last_ns);
	CHECK(h.list.data[0].flags & EXCHANGE_SOFT_END);
	heard_free(&h);
	vec_free(&t.records);
}

TEST(streams_are_no_requests)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	for (int i = 0; i < 10; i++)
		talk_say(&t, "Cs");
	t.now_ns += STREAM_SILENCE_NS;
	for (int i = 0; i < 10; i++)
		talk_say(&t, "Cs");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-10=0-0S 10-20=0-0S ");
	heard_free(&h);
	vec_free(&t.records);
}

/* Bytes that are missing part what lies around them. */
TEST(a_loss_joins_nothing)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "C");
	t.sent[0] += 10; /* a send that was lost */
	talk_say(&t, "C");
	t.received[1] += 20;
	talk_say(&t, "sSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_EQ(h.list.count, 2);
	CHECK(h.list.data[0].flags & EXCHANGE_SOFT_END);
	CHECK(h.list.data[1].flags & EXCHANGE_SOFT_BEGIN);
	CHECK_EQ(h.list.data[1].from, 20);
	CHECK_EQ(h.list.data[0].server.process, 0); /* nobody saw it being received */
	heard_free(&h);
	vec_free(&t.records);
}

/* How the first request was read and answered is lost at both ends: the second one is another. */
TEST(a_lost_answer_does_not_make_one_of_two_requests)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "CsScC");
	t.received[1] += 10;
	t.sent[1] += 10;
	t.received[0] += 10;
	talk_say(&t, "CsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-1=0-1 1-2=0-0~ 2-3=2-3 ");
	heard_free(&h);
	vec_free(&t.records);
}

/* That the caller received the answer tells of it where the send is lost. */
TEST(an_answer_is_known_by_either_end)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	talk_say(&t, "Cs");
	t.sent[1] += 10;
	talk_say(&t, "cCsSc");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK_STR(told(&h), "0-1=0-1~ 1-2=1-2 ");
	CHECK_EQ(h.list.data[0].server.last_ns, h.list.data[0].caller.last_ns);
	CHECK(h.list.data[0].flags & EXCHANGE_CUT);
	heard_free(&h);
	vec_free(&t.records);
}

/* One connection with a million requests takes time in proportion. */
TEST(many_on_one_connection)
{
	struct talk t = {0};
	struct heard h;

	talk_begin(&t);
	for (int i = 0; i < 100000; i++)
		talk_say(&t, i % 3 ? "CsSc" : "CCC");
	heard_make(&h, talk_map(&t, 0, t.records.count));
	CHECK(h.list.count > 60000);
	heard_free(&h);
	vec_free(&t.records);
}

static u32 random_next(u32 *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* A recording may end and begin anywhere: merged, its parts give the same exchanges. */
TEST(cut_anywhere_they_are_the_same)
{
	u32 seed = 1;

	for (unsigned long world = 0; world < seeds_of(200); world++) {
		struct talk t = {.no_caller = random_next(&seed) % 5 == 0};
		struct heard whole, merged;
		struct partial *left;
		size_t at = 0;

		t.no_server = !t.no_caller && random_next(&seed) % 5 == 0;
		talk_begin(&t);
		for (int i = 0; i < 60; i++)
			talk_bytes(&t, random_next(&seed) % 2, random_next(&seed) % 2,
				   1 + random_next(&seed) % 20);
		heard_make(&whole, talk_map(&t, 0, t.records.count));
		left = talk_map(&t, 0, at = random_next(&seed) % (t.records.count + 1));
		while (at < t.records.count) {
			size_t end = at + 1 + random_next(&seed) % 20;

			end = end < t.records.count ? end : t.records.count;
			CHECK_EQ(partial_merge(left, talk_map(&t, at, end)), 0);
			at = end;
		}
		heard_make(&merged, left);
		CHECK_EQ(merged.list.count, whole.list.count);
		if (whole.list.count)
			CHECK_MEM(merged.list.data, whole.list.data,
				  whole.list.count * sizeof(*whole.list.data));
		heard_free(&whole);
		heard_free(&merged);
		vec_free(&t.records);
	}
}

TEST_MAIN()
