/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --spans-only: whose thread had a span, where numbers of threads change hands. And that
 * what one recorder leaves out is nothing to another one's recording.
 */
#include "cpu_time.h"
#include "map/checkpoint/checkpoint.h"
#include "map/span/holders.h"
#include "one_thread.h"

/* Few threads are all of process 7. */
static struct record_head head_of(u8 kind, u64 time_ns, u32 tid)
{
	return (struct record_head){
		.kind = kind, .time_ns = time_ns, .tid = tid, .pid = tid < 100 ? 7 : tid};
}

static struct partial *spans_only(void)
{
	struct record_filter filter = {.head = head_of(RECORD_filter, 1000, 0),
				       .flags = FILTER_SPANS};
	struct partial *p = partial_new(NULL);

	apply(p, &filter);
	return p;
}

/* Its process is followed from then on. */
static void followed(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_filter follows = {.head = head_of(RECORD_filter, time_ns, tid),
					.flags = FILTER_SPANS | FILTER_FOLLOWS};

	if (follows.head.pid == tid)
		apply(p, &follows);
}

static void born(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_fork r = {
		.head = head_of(RECORD_fork, time_ns, tid), .parent_tid = 1, .parent_pid = 1};
	struct record_switch enters = {.head = head_of(RECORD_switch, time_ns + 1, 0),
				       .next_tid = tid};

	apply(p, &r);
	followed(p, time_ns, tid);
	apply(p, &enters);
}

/* The thread `old_tid` of process `tid` runs a program. */
static void renamed(struct partial *p, u64 time_ns, u32 tid, u32 old_tid)
{
	struct record_exec r = {.head = head_of(RECORD_exec, time_ns, tid), .old_tid = old_tid};

	apply(p, &r);
	followed(p, time_ns, tid);
}

/* It has a span for 10 ns of user code. */
static void has_span(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_span_begin begin = {.head = head_of(RECORD_span_begin, time_ns, tid),
					  .ctx = {.trace = {1}},
					  .flags = 1};
	struct record_span_end end = {.head = head_of(RECORD_span_end, time_ns + 10, tid),
				      .flags = 1};

	memcpy(begin.ctx.span, &time_ns, 8);
	end.ctx = begin.ctx;
	apply(p, &begin);
	apply(p, &end);
}

static void finish(struct partial *p)
{
	partial_cover(p, 1000, p->lives.data[p->lives.count - 1]->last_ns + 1);
	CHECK_EQ(partial_finish(p), 0);
}

static s64 user_of(const struct partial *p, u32 left_tid)
{
	s64 user = 0;

	for (size_t i = 0; i < p->lives.count; i++)
		if (p->lives.data[i]->left_tid == left_tid)
			user += p->lives.data[i]->total.ns[SPLIT_user];
	return user;
}

/* Before 3000 it had a number that another one gets at 5000, then that of its leader. */
TEST(user_code_is_of_the_thread_that_had_the_number)
{
	struct partial *p = spans_only();

	born(p, 2000, 7);
	born(p, 2100, 8);
	has_span(p, 2200, 8);
	has_span(p, 2300, 7);
	has_span(p, 2400, 7);
	renamed(p, 3000, 7, 8);
	has_span(p, 4000, 7);
	has_span(p, 4100, 7);
	born(p, 5000, 8);
	has_span(p, 6000, 8);
	finish(p);
	CHECK_EQ(p->lives.count, 3);
	for (size_t i = 0; i < p->lives.count; i++) {
		const struct life *l = p->lives.data[i];

		CHECK_EQ(l->total.ns[SPLIT_user], l->tid == 8 ? 10 : l->left_tid == 8 ? 30 : 20);
	}
	CHECK_EQ(user_of(p, 8), 40);
	partial_free(p);
}

/* ---- two recordings ---- */

/*
 * From 1000 on, or behind a gap up to 3000: 510 ns of user code of thread 7, of them 10 under a
 * span, and 490 of which nothing is told.
 */
static struct partial *recording(u64 from_ns, u32 filters)
{
	struct record_gap gap = {.head = head_of(RECORD_gap, 3000, 0), .begin_ns = 2000};
	struct record_filter filter = {.head = head_of(RECORD_filter, from_ns - 1, 0), /* late */
				       .flags = filters};
	struct record_thread found = {
		.head = head_of(RECORD_thread, from_ns, 7), .start_ns = 5, .flags = THREAD_ON_CPU};
	struct partial *p = partial_new(NULL);

	partial_late(p, from_ns, from_ns);
	if (from_ns == 3000)
		apply(p, &gap);
	apply(p, &found);
	if (filters)
		apply(p, &filter);
	if (filters & FILTER_SPANS)
		followed(p, from_ns + 1, 7);
	has_span(p, from_ns + 500, 7);
	partial_cover(p, from_ns, from_ns + 1000);
	return p;
}

static void check_two(u32 first, u32 second, s64 user, s64 under)
{
	struct partial *p = recording(1000, first);
	s64 spans = 0;

	CHECK_EQ(partial_merge(p, recording(3000, second)), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 1);
	CHECK_EQ(user_of(p, 7), user);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_unknown] + p->lives.data[0]->total.ns[SPLIT_cpu],
		 3000 - user);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_cpu] != 0,
		 first == FILTER_SYSCALLS || second == FILTER_SYSCALLS);
	for (size_t i = 0; i < p->spans.count; i++)
		spans += p->spans.data[i]->active.list.data[0].split.ns[SPLIT_user];
	CHECK_EQ(spans, under);
	partial_free(p);
}

TEST(what_one_recorder_leaves_out_another_may_record)
{
	check_two(0, 0, 1020, 20);
	check_two(0, FILTER_SPANS, 520, 20);
	check_two(FILTER_SPANS, 0, 520, 20);
	check_two(0, FILTER_SYSCALLS, 510, 10);
	check_two(FILTER_SYSCALLS, 0, 510, 10);
	check_two(FILTER_SPANS, FILTER_SYSCALLS, 10, 10);
	check_two(FILTER_SPANS, FILTER_SPANS, 20, 20);
	check_two(FILTER_SPANS | FILTER_SYSCALLS, 0, 510, 10);
}

static struct partial *checkpoint_of(struct partial *p)
{
	struct bytes bytes = {0};
	struct partial *checkpoint = NULL;

	CHECK_EQ(checkpoint_write(p, &bytes), 0);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	partial_free(p);
	return checkpoint;
}

/* Of a filtered recording that was deleted up to 2000: the rest is, too, but not what follows. */
TEST(a_checkpoint_knows_what_is_left_out_up_to_the_next_gap)
{
	for (int gap = 0; gap < 2; gap++) {
		struct partial *p = checkpoint_of(recording(1000, FILTER_SPANS)), *next;

		next = gap ? recording(3000, 0) : partial_new(NULL);
		if (!gap)
			has_span(next, 3500, 7);
		partial_cover(next, gap ? 3000 : 2000, 4000);
		CHECK_EQ(partial_merge(p, next), 0);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_EQ(partial_filters(p, gap ? 3000 : 2000, UINT64_MAX), gap ? 0 : FILTER_SPANS);
		CHECK_EQ(partial_filters(p, 1000, 2000), FILTER_SPANS);
		CHECK_EQ(user_of(p, 7), gap ? 510 : 10);
		partial_free(p);
	}
}

/* ---- many ---- */

#define THREADS 20000

/* How long it takes to finish a partial of many threads, each with a span. */
static double finish_many(u32 renames)
{
	struct partial *p = spans_only();
	double begun;

	for (u32 i = 0; i < THREADS; i++)
		born(p, 2000 + 4 * i, 100 + i);
	for (u32 i = 0; i < THREADS; i++)
		has_span(p, 200000 + 20 * i, 100 + i);
	for (u32 i = 0; i < renames; i++)
		renamed(p, 1000000 + i, 100 + 2 * i, 101 + 2 * i);
	begun = cpu_seconds();
	finish(p);
	begun = cpu_seconds() - begun;
	CHECK_EQ(p->spans.count, THREADS);
	CHECK_EQ(p->lives.count, THREADS);
	CHECK_EQ(user_of(p, 100), 10);
	CHECK_EQ(user_of(p, 101), 10);
	partial_free(p);
	return begun;
}

/* A search of all of them for each span takes a hundred times as long. */
TEST(one_that_was_renamed_costs_no_search_of_all)
{
	double without = finish_many(0), one = finish_many(1), many = finish_many(THREADS / 2);

	CHECK(one < 20 * without);
	CHECK(many < 20 * without);
}

/* ---- who had a number ---- */

static u32 left_tid_at(const struct partial *p, const struct holders *h, u32 number, u64 time_ns)
{
	const struct holder *holder = holders_find(h, number, time_ns);

	return holder ? p->lives.data[holder->life]->left_tid : 0;
}

TEST(a_number_has_one_holder_at_a_time)
{
	struct partial *p = spans_only();
	struct holders h = {0};

	born(p, 2000, 7);
	born(p, 2100, 8);
	renamed(p, 3000, 7, 8);
	born(p, 5000, 8);
	finish(p);
	CHECK_EQ(holders_fill(&h, p), 0);
	CHECK_EQ(h.list.count, 4);
	CHECK_EQ(left_tid_at(p, &h, 7, 1000), 7); /* the first, if none had it then */
	CHECK_EQ(left_tid_at(p, &h, 7, 2999), 7);
	CHECK_EQ(left_tid_at(p, &h, 7, 3000), 8);
	CHECK_EQ(holders_find(&h, 8, 4999)->from_ns, 2100);
	CHECK_EQ(holders_find(&h, 8, 5000)->from_ns, 5000);
	CHECK(!holders_find(&h, 9, 5000));
	holders_free(&h);
	partial_free(p);
}

TEST_MAIN()
