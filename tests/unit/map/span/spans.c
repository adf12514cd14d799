/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a span and their attributes, of many threads at once. */
#include "cpu_time.h"
#include "one_thread.h"

static void event(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_span_event r = {
		.head = head(RECORD_span_event, time_ns), .ctx = outer, .name_len = 1};

	r.head.tid = tid;
	r.name[0] = 'e';
	apply(p, &r);
}

static void attribute(struct partial *p, u64 time_ns, u32 tid, bool of_event)
{
	struct record_span_attribute r = {.head = head(RECORD_span_attribute, time_ns),
					  .ctx = outer,
					  .of_event = of_event,
					  .type = 1,
					  .key_len = 1,
					  .text_len = 2};

	r.head.tid = tid;
	r.value = tid;
	apply(p, &r);
}

/* So many threads tell an event each, and again; `right` has the second round, or is `to`. */
static void events_tell(struct partial *to, struct partial *right, u32 threads)
{
	for (u32 i = 0; i < 2 * threads; i++)
		event(i < threads ? to : right, 1000 + i, 10 + i % threads);
}

/* The last event of each thread has one attribute, of that thread, and nothing else has. */
static void check_told(struct partial *p, u32 threads)
{
	const struct app_span *span;

	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	span = p->spans.data[0];
	CHECK_EQ(span->attributes.count, 0);
	CHECK_EQ(span->events.count, 2 * threads);
	for (size_t i = 0; i < span->events.count; i++) {
		const struct span_event *e = &span->events.data[i];

		CHECK_EQ(e->attributes.count, i >= threads);
		if (e->attributes.count)
			CHECK_EQ(e->attributes.data[0].value, e->tid);
	}
	partial_free(p);
}

TEST(an_attribute_is_of_the_last_event_of_its_thread)
{
	for (u32 threads = 1; threads < 50; threads += 6) {
		struct partial *p = partial_new(NULL);

		events_tell(p, p, threads);
		for (u32 i = 0; i < threads; i++)
			attribute(p, 5000 + i, 10 + i, true);
		check_told(p, threads);
	}
}

/* What a chunk knows of attributes only finds its events in the one before. */
TEST(an_attribute_finds_its_event_in_the_chunk_before)
{
	for (u32 threads = 1; threads < 50; threads += 6) {
		struct partial *left = partial_new(NULL), *middle = partial_new(NULL);
		struct partial *right = partial_new(NULL);

		events_tell(left, middle, threads);
		for (u32 i = 0; i < threads; i++)
			attribute(right, 5000 + i, 10 + i, true);
		CHECK_EQ(partial_merge(left, middle), 0);
		CHECK_EQ(partial_merge(left, right), 0);
		check_told(left, threads);
	}
}

/* ---- many ---- */

static double attributes_of_many(bool of_event)
{
	struct partial *p = partial_new(NULL);
	double begun = cpu_seconds();

	for (u32 i = 0; i < 40000; i++)
		attribute(p, 1000 + i, 10 + i, of_event);
	begun = cpu_seconds() - begun;
	CHECK_EQ(p->spans.data[0]->events.count, of_event ? 40000 : 0);
	partial_free(p);
	return begun;
}

/* If each looked through all events of the span, it would take a hundred times as long. */
TEST(attributes_of_ever_new_threads_cost_no_search)
{
	CHECK(attributes_of_many(true) < 15 * attributes_of_many(false));
}

TEST_MAIN()
