/* SPDX-License-Identifier: Apache-2.0 */
/* Which span is active, when others end it, and what it hands to those below it. */
#include "unit/lib/active.h"

#include <pthread.h>
#include <sched.h>

static struct listener l;

static bool same_trace(const struct fathom_span *a, const struct fathom_span *b)
{
	return memcmp(a->trace_id, b->trace_id, 16) == 0;
}

TEST(a_span_ended_elsewhere_is_active_no_more)
{
	struct fathom_span job, next;

	listener_start(&l);
	job = fathom_span_begin("job");
	end_elsewhere(&job);
	next = fathom_span_begin("next request");
	CHECK(!same_trace(&next, &job));
	CHECK_EQ(next.parent_id[0] | next.parent_id[7], 0);
	fathom_span_end(&next);
	CHECK_EQ(fathom_span_current().state, 0);
	CHECK(otel_thread_ctx_v1 == NULL);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	/* This thread says itself that it has no active span, before the next begins. */
	CHECK_EQ(listener_count(&l, RECORD_span_detach), 1);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 2);
}

TEST(the_one_below_is_active_again)
{
	struct fathom_span outer, job;

	listener_start(&l);
	outer = fathom_span_begin("outer");
	job = fathom_span_begin("job");
	end_elsewhere(&job);
	CHECK(same_span(fathom_span_current(), &outer));
	fathom_span_end(&outer);
	CHECK_EQ(fathom_span_current().state, 0);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_attach), 1);
}

TEST(one_in_the_middle_ended_elsewhere)
{
	struct fathom_span outer, middle, inner;
	struct record_kept *end;

	listener_start(&l);
	outer = fathom_span_begin("outer");
	middle = fathom_span_begin("middle");
	inner = fathom_span_begin("inner");
	end_elsewhere(&middle);
	CHECK(same_span(fathom_span_current(), &inner));
	fathom_span_end(&inner);
	CHECK(same_span(fathom_span_current(), &outer));
	fathom_span_end(&outer);
	CHECK_EQ(fathom_span_current().state, 0);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 3);
	for (u32 i = 0; (end = listener_nth(&l, RECORD_span_end, i)); i++) {
		if (memcmp(end->end.ctx.span, inner.span_id, 8) == 0)
			CHECK_MEM(end->end.next.span, outer.span_id, 8);
	}
}

/* Until its next call, the thread that began them keeps room for more. */
TEST(as_many_as_you_like_ended_elsewhere)
{
	struct fathom_span s;

	for (int i = 0; i < 200; i++) {
		s = fathom_span_begin("handed over");
		CHECK(same_span(fathom_span_current(), &s));
		end_elsewhere(&s);
	}
	CHECK_EQ(fathom_span_current().state, 0);
}

/* The place of a detached span is another's: its end must not take that one away. */
TEST(an_old_place_is_nobody_elses)
{
	struct fathom_span queued = fathom_span_begin("queued"), here;

	fathom_span_detach(&queued);
	here = fathom_span_begin("here");
	end_elsewhere(&queued);
	CHECK(same_span(fathom_span_current(), &here));
	fathom_span_end(&here);
	CHECK_EQ(fathom_span_current().state, 0);
}

static void *begin_it(void *span)
{
	*(struct fathom_span *)span = fathom_span_begin("of a thread that ends");
	return NULL;
}

TEST(the_span_of_a_thread_that_is_gone)
{
	struct fathom_span s, mine = fathom_span_begin("mine");
	pthread_t thread;

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, begin_it, &s), 0);
		pthread_join(thread, NULL);
		fathom_span_end(&s);
		CHECK(same_span(fathom_span_current(), &mine));
	}
	fathom_span_end(&mine);
}

TEST(begun_attached_and_ended_on_one_thread)
{
	struct fathom_span s = fathom_span_begin("s"), between;

	fathom_span_attach(&s);
	fathom_span_end(&s);
	CHECK_EQ(fathom_span_current().state, 0);
	s = fathom_span_begin("s");
	between = fathom_span_begin("between");
	fathom_span_attach(&s);
	fathom_span_end(&s);
	CHECK(same_span(fathom_span_current(), &between));
	fathom_span_end(&between);
	CHECK_EQ(fathom_span_current().state, 0);
	s = fathom_span_begin("s");
	fathom_span_attach(&s);
	fathom_span_detach(&s); /* of the attach alone */
	CHECK(same_span(fathom_span_current(), &s));
	fathom_span_end(&s);
	CHECK_EQ(fathom_span_current().state, 0);
}

static void *attach_and_end_it(void *span)
{
	fathom_span_attach(span);
	fathom_span_end(span);
	return fathom_span_current().state ? "still active" : NULL;
}

TEST(attached_and_ended_on_another_thread)
{
	struct fathom_span s = fathom_span_begin("s");
	pthread_t thread;
	void *result;

	CHECK_EQ(pthread_create(&thread, NULL, attach_and_end_it, &s), 0);
	pthread_join(thread, &result);
	CHECK_STR(result, NULL);
	CHECK_EQ(fathom_span_current().state, 0);
}

TEST(an_ended_span_is_not_attached)
{
	struct fathom_span s = fathom_span_begin("s");

	fathom_span_end(&s);
	fathom_span_attach(&s);
	CHECK_EQ(fathom_span_current().state, 0);
	fathom_span_detach(&s);
}

/* Nobody sees when it is at work: it is not told as if all were known. */
TEST(one_that_is_too_deep_is_told_incomplete)
{
	struct fathom_span spans[65], now;

	listener_start(&l);
	for (int i = 0; i < 65; i++)
		spans[i] = fathom_span_begin("deep");
	now = fathom_span_current();
	CHECK_MEM(now.span_id, spans[63].span_id, 8);
	for (int i = 65; i-- > 0;)
		fathom_span_end(&spans[i]);
	listener_stop(&l);
	CHECK_EQ(listener_count(&l, RECORD_span_begin), 65);
	CHECK_EQ(listener_count(&l, RECORD_span_end), 65);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 63)->head.cpu, APP_RECORD_WHOLE);
	CHECK_EQ(listener_nth(&l, RECORD_span_begin, 64)->head.cpu,
		 APP_RECORD_WHOLE ^ APP_RECORD_CUT);
}

static volatile bool stop;
static struct fathom_span handed[512];
static u32 handed_count, ended_count;

static void *end_what_is_handed(void *arg)
{
	while (!stop || ended_count < __atomic_load_n(&handed_count, __ATOMIC_ACQUIRE)) {
		if (ended_count < __atomic_load_n(&handed_count, __ATOMIC_ACQUIRE))
			fathom_span_end(&handed[ended_count++ % 512]);
		else
			sched_yield();
	}
	return NULL;
}

/* One thread begins, pushes and pops while the other ends below and above. */
TEST(two_threads_at_once)
{
	pthread_t thread;
	u64 begin = listener_now();

	stop = false;
	CHECK_EQ(pthread_create(&thread, NULL, end_what_is_handed, NULL), 0);
	for (int i = 0; i < 20000 && listener_now() - begin < 20000000000ull; i++) {
		struct fathom_span outer = fathom_span_begin("outer"), given, inner;

		while (handed_count - __atomic_load_n(&ended_count, __ATOMIC_RELAXED) >= 512)
			usleep(100);
		given = handed[handed_count % 512] = fathom_span_begin("given");
		__atomic_store_n(&handed_count, handed_count + 1, __ATOMIC_RELEASE);
		inner = fathom_span_begin("inner");
		if (!same_trace(&inner, &outer) || !same_span(fathom_span_current(), &inner))
			CHECK_FAIL("in round %d inner is not active", i);
		fathom_span_end(&inner);
		while (i % 2 && same_span(fathom_span_current(), &given))
			sched_yield();
		if (i % 2 && !same_span(fathom_span_current(), &outer))
			CHECK_FAIL("in round %d outer is not active", i);
		fathom_span_end(&outer);
		if (i % 2 && fathom_span_current().state)
			CHECK_FAIL("in round %d something is active", i);
	}
	stop = true;
	pthread_join(thread, NULL);
	CHECK_EQ(fathom_span_current().state, 0);
}

TEST(the_debug_flag_reaches_those_below)
{
	static const char received[] = "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-d";
	struct fathom_context c = {0};
	struct fathom_span server, client, current;
	char b3[FATHOM_B3_BYTES];

	CHECK_EQ(fathom_extract_b3(received, &c), 0);
	server = fathom_span_remote(&c, "server");
	client = fathom_span_begin("client");
	current = fathom_span_current();
	for (int i = 0; i < 2; i++) {
		c = fathom_span_context(i ? &current : &client);
		CHECK_EQ(fathom_inject_b3(&c, b3), 0);
		CHECK_MEM(b3 + 49, "-d", 2);
	}
	fathom_span_detach(&client);
	fathom_span_attach(&client);
	CHECK_EQ(fathom_span_begin("inner").flags & FATHOM_DEBUG_TRACE, FATHOM_DEBUG_TRACE);
	current = fathom_span_current();
	fathom_span_end(&current);
	fathom_span_end(&client);
	fathom_span_end(&server);
	CHECK_EQ(fathom_span_current().state, 0);
}

TEST_MAIN()
