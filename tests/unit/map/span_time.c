/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a span of which the begin was not seen, and of one that several threads had. */
#include "map/tree.h"
#include "one_thread.h"

/* One that took 1000 ns, with outer published. */
static void call(struct partial *p, u64 end_ns)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = 39, .duration_ns = 1000, .ctx = outer};

	apply(p, &r);
}

/* Of outer, when all is together. */
static struct span_time time_of_outer(struct partial *p)
{
	struct span_time times[4] = {0}, found = {0};

	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(p->spans.count <= 4);
	CHECK_EQ(span_times(p, times), 0);
	for (size_t i = 0; i < p->spans.count; i++)
		if (context_equal(&p->spans.data[i]->ctx, &outer))
			found = times[i];
	partial_free(p);
	return found;
}

TEST(what_was_only_seen_published_counts)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call(p, 3000);
	call(p, 5000);
	span_ends(p, 6000, &outer, NULL);
	t = time_of_outer(p);
	CHECK(t.begin_soft && !t.end_soft);
	CHECK_EQ(t.threads, 1);
	CHECK(t.split.ns[SPLIT_kernel] >= 1000);
}

TEST(what_both_books_tell_counts_once)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	span_ends(p, 2000, &inner, &outer);
	call(p, 4000);
	call(p, 5000);
	span_ends(p, 6000, &outer, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 2000);
	CHECK_EQ(t.end_ns, 6000);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 2000);
	CHECK_EQ(t.split.ns[SPLIT_user], 2000);
	CHECK_EQ(split_total(&t.split), 4000);
}

/* ---- from thread to thread ---- */

static void begins(struct partial *p, u64 time_ns, u32 tid, const struct context *ctx,
		   const struct context *parent)
{
	struct record_span_begin r = {
		.head = head(RECORD_span_begin, time_ns), .ctx = *ctx, .flags = tid != 0};

	r.head.tid = tid ? tid : 5;
	if (parent)
		memcpy(&r.parent, parent->span, 8);
	apply(p, &r);
}

/* A thread has the span from `from_ns` to `to_ns`, in user code. */
struct stay {
	u32 tid;
	u64 from_ns, to_ns;
	const struct context *ctx;
};

static void attaches(struct partial *p, u64 time_ns, u32 tid, const struct context *ctx)
{
	struct record_span_attach r = {.head = head(RECORD_span_attach, time_ns), .ctx = *ctx};

	r.head.tid = tid;
	apply(p, &r);
}

static void detaches(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_span_detach r = {.head = head(RECORD_span_detach, time_ns)};

	r.head.tid = tid;
	apply(p, &r);
}

/* Outer from 1000 to 9000, begun while no thread had it; stays in the order of their ends. */
static struct span_time time_of_stays(const struct stay *stays, size_t count)
{
	struct partial *p = partial_new(NULL);

	begins(p, 1000, 0, &outer, NULL);
	begins(p, 1000, 0, &inner, &outer);
	for (u64 t = 1000; t < 9000; t++) {
		for (size_t i = 0; i < count; i++)
			if (stays[i].to_ns == t)
				detaches(p, t, stays[i].tid);
		for (size_t i = 0; i < count; i++)
			if (stays[i].from_ns == t)
				attaches(p, t, stays[i].tid, stays[i].ctx);
	}
	span_ends(p, 9000, &inner, NULL);
	span_ends(p, 9000, &outer, NULL);
	return time_of_outer(p);
}

TEST(two_threads_in_turn)
{
	const struct stay stays[] = {{6, 2000, 2100, &outer},
				     {7, 3000, 3100, &outer},
				     {6, 4000, 4100, &outer},
				     {7, 4100, 4200, &outer},
				     {6, 5000, 5100, &outer}};
	struct span_time t = time_of_stays(stays, 5);

	CHECK_EQ(t.threads, 1);
	CHECK_EQ(t.split.ns[SPLIT_user], 500);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 7500);
	CHECK_EQ(split_total(&t.split), 8000);
}

TEST(two_threads_at_once)
{
	const struct stay stays[] = {
		{6, 2000, 3000, &outer}, {7, 2500, 3500, &outer}, {6, 4000, 4500, &outer}};
	struct span_time t = time_of_stays(stays, 3);

	CHECK_EQ(t.threads, 2);
	CHECK_EQ(t.split.ns[SPLIT_user], 2500);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 8000 - 2000);
}

/* While a span below it is active on a thread of its own, that thread has it, too. */
TEST(a_child_between_two_stays)
{
	const struct stay stays[] = {{6, 2000, 3000, &outer},
				     {6, 3000, 4000, &inner},
				     {6, 4000, 5000, &outer},
				     {7, 3200, 3400, &outer},
				     {8, 6000, 7000, &inner}};
	struct span_time t = time_of_stays(stays, 5);

	CHECK_EQ(t.threads, 2);
	CHECK_EQ(t.split.ns[SPLIT_user], 3200);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 8000 - 3000);
}

/* An event loop: what was begun under it goes on when it has ended. */
TEST(a_child_that_outlives_it)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	begins(p, 1000, 5, &outer, NULL);
	begins(p, 2000, 5, &inner, &outer);
	span_ends(p, 3000, &outer, &inner);
	call(p, 7000);
	span_ends(p, 8000, &inner, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.threads, 1);
	CHECK_EQ(t.split.ns[SPLIT_user], 2000);
	CHECK_EQ(split_total(&t.split), 2000);
}

TEST(a_child_that_begins_when_it_has_ended)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	begins(p, 1000, 5, &outer, NULL);
	span_ends(p, 3000, &outer, NULL);
	begins(p, 4000, 5, &inner, &outer);
	call(p, 7000);
	span_ends(p, 8000, &inner, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.split.ns[SPLIT_user], 2000);
	CHECK_EQ(split_total(&t.split), 2000);
}

/* Nothing says what the thread does when another one ends its span. */
TEST(one_that_another_thread_ends)
{
	struct partial *p = partial_new(NULL);
	struct record_span_end r = {.head = head(RECORD_span_end, 4000), .ctx = outer};
	struct span_time t;

	r.head.tid = 6;
	begins(p, 1000, 5, &outer, NULL);
	call(p, 3000);
	apply(p, &r);
	call(p, 8000);
	t = time_of_outer(p);
	CHECK_EQ(split_total(&t.split), 3000);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 3000);
}

/* What would take too long to look at is not known: it is not off its threads. */
TEST(spans_in_spans_without_end)
{
	enum { DEPTH = 12000 };
	struct partial *p = partial_new(NULL);
	struct span_time *times = calloc(DEPTH, sizeof(*times));
	struct context at[2];
	u64 unknown = 0;

	for (u32 i = 0; i < DEPTH; i++) {
		at[i & 1] = (struct context){{1}, {1, 0, 0, 0, 0, 0, (u8)(i >> 8), (u8)i}};
		begins(p, 1000 + 4 * i, 5, &at[i & 1], i ? &at[~i & 1] : NULL);
		attaches(p, 1001 + 4 * i, 6, &at[i & 1]);
	}
	detaches(p, 100000, 5);
	detaches(p, 100000, 6);
	for (u32 i = DEPTH; i > 0; i--) {
		at[0] = (struct context){{1}, {1, 0, 0, 0, 0, 0, (u8)((i - 1) >> 8), (u8)(i - 1)}};
		span_ends(p, 200000 - i, &at[0], NULL);
	}
	partial_cover(p, 1000, 200000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, DEPTH);
	CHECK_EQ(span_times(p, times), 0);
	CHECK_EQ(times[0].split.ns[SPLIT_off_thread], 99999);
	for (u32 i = 0; i < DEPTH; i++) {
		s64 *ns = times[i].split.ns;

		CHECK(split_total(&times[i].split) >= (s64)(times[i].end_ns - times[i].begin_ns));
		CHECK(ns[SPLIT_off_thread] == 0 || ns[SPLIT_off_thread] == 100000 - i - 1);
		unknown += ns[SPLIT_off_thread] == 0;
	}
	CHECK(unknown > DEPTH / 2);
	free(times);
	partial_free(p);
}

/* Each thread has it for a moment, and there are many: all are found again in time. */
TEST(a_new_thread_for_each_stay)
{
	enum { THREADS = 200000 };
	struct partial *p = partial_new(NULL);
	struct span_time t;

	begins(p, 1000, 0, &outer, NULL);
	for (u32 i = 0; i < THREADS; i++) {
		attaches(p, 1001 + 2 * i, 10 + i, &outer);
		detaches(p, 1002 + 2 * i, 10 + i);
	}
	span_ends(p, 1000 + 3 * THREADS, &outer, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.threads, 1);
	CHECK_EQ(t.split.ns[SPLIT_user], THREADS);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 2 * THREADS);
}

TEST_MAIN()
