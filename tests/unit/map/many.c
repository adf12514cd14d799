/* SPDX-License-Identifier: Apache-2.0 */
/* Input with more threads and spans than any host has: what it takes, and what is left out. */
#include <malloc.h>

#include "one_thread.h"

static const struct partial_options three = {.lives_max = 3};

static void told_by(struct partial *p, u8 kind, u64 time_ns, u32 tid)
{
	union {
		struct record_head head;
		struct record_span_detach detach;
		struct record_fork fork;
		struct record_exit exit;
		struct record_thread thread;
	} r = {.head = head(kind, time_ns)};

	r.head.tid = tid;
	apply(p, &r);
}

TEST(of_more_threads_than_there_may_be_the_first_are_kept)
{
	struct partial *p = partial_new(&three);

	for (u32 tid = 1; tid <= 5; tid++)
		told_by(p, RECORD_span_detach, 1000 * tid, tid);
	CHECK_EQ(p->left_out, 2);
	for (u32 tid = 2; tid <= 5; tid++) /* of those that are kept all goes on */
		told_by(p, RECORD_span_detach, 10000 + 1000 * tid, tid);
	CHECK_EQ(p->left_out, 4);
	partial_cover(p, 1000, 20000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(p->lives.data[i]->tid, i + 1);
		CHECK_EQ(split_total(&p->lives.data[i]->total), 19000);
	}
	partial_free(p);
}

/* A thread that is left out ends the thread that had its id before. */
TEST(one_that_is_left_out_ends_the_one_before)
{
	static const u8 begins[] = {RECORD_fork, RECORD_thread};
	struct partial *p = partial_new(&three);

	for (u32 tid = 1; tid <= 3; tid++)
		told_by(p, RECORD_span_detach, 1000 * tid, tid);
	told_by(p, RECORD_fork, 5000, 2);
	for (u64 i = 0; i < 10; i++) {
		told_by(p, RECORD_span_detach, 6000 + i, 2);
		told_by(p, RECORD_exit, 6000 + i, 2);
		told_by(p, begins[i % 2], 6000 + i, 4);
	}
	CHECK_EQ(p->left_out, 31);
	partial_cover(p, 1000, 20000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 3);
	CHECK(p->lives.data[1]->last_ns == 2000 && !p->lives.data[1]->exit_ns);
	partial_free(p);
}

TEST(merged_partials_have_no_more_threads_either)
{
	struct partial *left = partial_new(&three), *right = partial_new(&three);

	for (u32 tid = 1; tid <= 3; tid++)
		told_by(left, RECORD_span_detach, 1000 * tid, tid);
	told_by(right, RECORD_span_detach, 11000, 4);
	partial_cover(left, 1000, 10000);
	partial_cover(right, 10000, 20000);
	CHECK_EQ(partial_merge(left, right), 0);
	CHECK_EQ(left->lives.count, 3);
	CHECK_EQ(left->left_out, 1);
	told_by(left, RECORD_span_detach, 20000, 4); /* nor does it go on */
	CHECK_EQ(left->left_out, 2);
	CHECK_EQ(partial_finish(left), 0);
	partial_free(left);
}

/* Merges what follows, from time_ns on: behind a gap, if there is one, threads with a record each.
 */
static void merge_threads(struct partial *left, u64 time_ns, bool gap, u32 first, u32 count)
{
	const struct record_gap r = {.head = head(RECORD_gap, time_ns), .begin_ns = time_ns - 24};
	struct partial *p = partial_new(&three);

	if (gap)
		apply(p, &r);
	for (u32 i = 0; i < count; i++)
		told_by(p, RECORD_span_detach, time_ns + 100 * i, first + i);
	partial_cover(p, time_ns, time_ns + 900);
	CHECK_EQ(partial_merge(left, p), 0);
}

/* Records about threads that are left out are no reason to keep more threads. */
TEST(threads_are_no_more_after_any_number_of_merges)
{
	for (int gap = 0; gap < 2; gap++) {
		struct partial *all = partial_new(&three);

		for (u32 i = 0; i < 10; i++)
			merge_threads(all, 1000 * (i + 1), gap && i, gap ? 1 : 3 * i + 1, 3);
		CHECK_EQ(all->lives.count, 3);
		CHECK_EQ(all->left_out, 27);
		CHECK_EQ(all->fed, 3);
		CHECK_EQ(partial_finish(all), 0);
		partial_free(all);
	}
}

/* The result is that of one partial with all of the records. */
TEST(threads_that_go_on_make_room_for_others)
{
	struct partial *all = partial_new(&three);

	merge_threads(all, 1000, false, 1, 3);
	merge_threads(all, 2000, false, 1, 3);
	merge_threads(all, 3000, false, 4, 2);
	CHECK_EQ(all->lives.count, 4);
	CHECK_EQ(all->left_out, 1);
	CHECK_EQ(all->fed, 7);
	CHECK_EQ(partial_finish(all), 0);
	partial_free(all);
}

/* The first chunk goes into a partial that has nothing: it is not copied. */
TEST(sums_that_merge_with_none_are_moved)
{
	struct partial *left = partial_new(NULL), *right = partial_new(NULL);
	struct record_syscall r = {.head = head(RECORD_syscall, 2000), .duration_ns = 10};
	const void *sums;

	apply(right, &r);
	apply(right, &r);
	sums = right->calls.list.data;
	CHECK(sums);
	CHECK_EQ(partial_merge(left, right), 0);
	CHECK(left->calls.list.data == sums);
	partial_cover(left, 1000, 3000);
	CHECK_EQ(partial_finish(left), 0);
	CHECK_EQ(left->calls.list.data[0].count, 2);
	partial_free(left);
}

/* Bytes that a record of one kind takes, with the spare room of growing arrays. */
static size_t taken_by(void (*tell)(struct partial *p, u64 i), u64 count)
{
	struct partial *p = partial_new(NULL);
	size_t before = mallinfo2().uordblks, after;

	for (u64 i = 0; i < count; i++)
		tell(p, i);
	after = mallinfo2().uordblks;
	partial_free(p);
	return (after - before) / count;
}

static void thread_tell(struct partial *p, u64 i)
{
	struct record_waking r = {.head = head(RECORD_waking, 1000 + i)};

	r.head.tid = (u32)i + 1;
	apply(p, &r);
}

static void span_tell(struct partial *p, u64 i)
{
	struct record_span_begin r = {.head = head(RECORD_span_begin, 1000 + i), .flags = 1};

	memcpy(r.ctx.span, &i, sizeof(i));
	r.ctx.trace[0] = 1;
	apply(p, &r);
}

#define COUNT 20000

TEST(the_most_threads_and_spans_of_100_mb_take_less_than_4_gib)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("sanitizers have their own memory");
#endif
	CHECK(taken_by(thread_tell, COUNT) * LIVES_MAX < (size_t)2 << 30);
	CHECK(taken_by(span_tell, COUNT) * (100000000 / 60) < (size_t)2 << 30);
}

TEST(threads_that_do_something_are_all_kept)
{
	struct partial *p = partial_new(&three);

	for (u64 i = 0; i < 30; i++)
		told_by(p, RECORD_span_detach, 1000 + i, (u32)(i / 3) + 1);
	CHECK_EQ(p->left_out, 0);
	CHECK_EQ(p->lives.count, 10);
	partial_free(p);
}

/* The least that is recorded of a thread that lived, merged into an empty partial as all are. */
TEST(threads_that_only_lived_are_kept_and_merged)
{
	struct partial *all = partial_new(&three);

	for (u32 chunk = 0; chunk < 4; chunk++) {
		struct partial *p = partial_new(&three);

		for (u32 tid = 20 * chunk + 1; tid <= 20 * (chunk + 1); tid++) {
			told_by(p, RECORD_fork, 1000 * tid, tid);
			told_by(p, RECORD_exit, 1000 * tid + 100, tid);
		}
		partial_cover(p, 20000 * chunk + 1000, 20000 * (chunk + 1) + 1000);
		CHECK_EQ(partial_merge(all, p), 0);
	}
	CHECK_EQ(all->left_out, 0);
	CHECK_EQ(all->lives.count, 80);
	partial_free(all);
}

TEST_MAIN()
