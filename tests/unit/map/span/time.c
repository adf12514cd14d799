/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a span of which the begin was not seen, and of one that several threads had. */
#include "map/tree/tree.h"
#include "one_thread.h"

/* One that took 1000 ns, with outer published. */
static void call(struct partial *p, u64 end_ns)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = 39, .duration_ns = 1000, .ctx = outer};

	apply(p, &r);
}

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

/* Where more is to come what a thread is at is not over, though it was seen last before the end. */
TEST(what_a_thread_is_at_goes_on_behind_a_range_that_ends_with_what_is_told)
{
	static const struct partial_options more = {.to_ns = 9000};
	struct partial *p = partial_new(&more);
	struct span_time t;

	call(p, 3000);
	call(p, 5000);
	t = time_of_outer(p);
	CHECK_EQ(t.end_ns, 9000);
	p = partial_new(NULL);
	call(p, 3000);
	call(p, 5000);
	t = time_of_outer(p);
	CHECK_EQ(t.end_ns, 5000);
}

TEST(what_both_ledgers_tell_counts_once)
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

/* It began on its thread, which had no room for it: whether and when it was at work there, and
 * elsewhere, is not told. */
TEST(what_was_too_deep_is_unknown)
{
	struct partial *p = partial_new(NULL);
	struct record_span_begin r = {
		.head = head(RECORD_span_begin, 2000), .ctx = outer, .flags = SPAN_TOO_DEEP};
	struct span_time t;

	apply(p, &r);
	call(p, 3500);
	span_ends(p, 6000, &outer, NULL);
	t = time_of_outer(p);
	CHECK(t.begin_ns == 2000 && t.end_ns == 6000 && !t.begin_soft && !t.end_soft);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 4000);
}

static void call_of(struct partial *p, u64 begin_ns, u64 end_ns, const struct context *ctx)
{
	struct record_syscall r = {.head = head(RECORD_syscall, end_ns),
				   .nr = 39,
				   .duration_ns = end_ns - begin_ns,
				   .ctx = *ctx};

	apply(p, &r);
}

/* ---- over a gap ---- */

/* Outer is begun at 2000, and active when a gap begins, from 5000 to 6000. */
static struct partial *into_a_gap(void)
{
	struct partial *p = partial_new(NULL);
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 6000}, .begin_ns = 5000};

	begins(p, 2000, 5, &outer, NULL);
	call(p, 3500);
	apply(p, &gap);
	return p;
}

/* Its end may have been told to nobody. */
TEST(a_span_of_which_nothing_is_seen_behind_a_gap_ends_at_it)
{
	struct partial *p = into_a_gap();
	struct span_time t;

	begins(p, 7000, 5, &inner, NULL);
	span_ends(p, 8000, &inner, NULL);
	t = time_of_outer(p);
	CHECK(t.end_soft && t.end_ns == 5000);
	CHECK_EQ(t.split.ns[SPLIT_off_thread], 0);
	CHECK_EQ(split_total(&t.split), 3000);
}

/* A crash's gap begins before the last of what was recovered; one behind it is none of its. */
TEST(a_span_that_is_seen_last_within_a_gap_ends_there)
{
	struct record_gap later = {.head = {.kind = RECORD_gap, .time_ns = 8500}, .begin_ns = 8000};
	struct record_syscall last = {
		.head = head(RECORD_syscall, 5300), .nr = 39, .duration_ns = 100, .ctx = outer};
	struct partial *p = partial_new(NULL);
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 6000}, .begin_ns = 5000};
	struct span_time t;

	begins(p, 2000, 5, &outer, NULL);
	apply(p, &last);
	apply(p, &gap);
	apply(p, &later);
	t = time_of_outer(p);
	CHECK(t.end_soft && t.end_ns == 5300);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 100);
	CHECK_EQ(t.split.ns[SPLIT_user], 3200);
}

/* Another was seen published then: its end is not told. The answer begins in the middle of it. */
TEST(what_is_seen_of_a_span_that_is_cut_is_known_from_any_time_on)
{
	const struct partial_options whole = {0}, late = {.from_ns = 4000};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 6000}, .begin_ns = 5000};

	for (int i = 0; i < 2; i++) {
		struct partial *p = partial_new(i ? &late : &whole);
		struct span_time t;

		begins(p, 2000, 5, &outer, NULL);
		call_of(p, 2500, 2600, &outer);
		call_of(p, 5200, 5300, &outer);
		call_of(p, 5350, 5450, &inner);
		apply(p, &gap);
		t = time_of_outer(p);
		CHECK(t.end_soft && t.begin_ns == 2000 && t.end_ns == 5300);
		CHECK_EQ(t.split.ns[SPLIT_kernel], i ? 100 : 200);
		CHECK_EQ(t.split.ns[SPLIT_user], i ? 1200 : 2600);
		CHECK_EQ(t.split.ns[SPLIT_unknown], i ? 2000 : 500);
	}
}

TEST(a_span_that_is_seen_behind_a_gap_goes_on)
{
	struct partial *p = into_a_gap();
	struct span_time t;

	call(p, 7500);
	t = time_of_outer(p);
	CHECK(t.end_soft && t.end_ns == 9000);
	CHECK(t.split.ns[SPLIT_unknown] >= 1000);
	p = into_a_gap();
	span_ends(p, 8000, &outer, NULL);
	t = time_of_outer(p);
	CHECK(!t.end_soft && t.end_ns == 8000);
	CHECK(t.split.ns[SPLIT_unknown] >= 1000);
}

/* ---- in a call that is not recorded, with outer published ---- */

static const struct context none;

/* A nanosleep since 3000. */
static void leaves(struct partial *p, u64 time_ns, u8 state)
{
	struct record_switch r = {.head = head(RECORD_switch, time_ns),
				  .nr = 35,
				  .mode = MODE_syscall,
				  .state = state,
				  .since_ns = time_ns - 3000,
				  .ctx = outer};

	apply(p, &r);
}

static void enters(struct partial *p, u64 time_ns)
{
	struct record_switch r = {.head = head(RECORD_switch, time_ns), .next_tid = 5};

	r.head.tid = 0;
	apply(p, &r);
}

TEST(a_span_lasts_as_long_as_a_wait_in_it)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call_of(p, 1500, 2500, &none);
	leaves(p, 4000, LEAVE_sleep);
	enters(p, 6000);
	call_of(p, 7000, 7500, &none);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 3000);
	CHECK_EQ(t.end_ns, 6000);
	CHECK_EQ(t.split.ns[SPLIT_timer], 2000);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 1000);
	CHECK_EQ(split_total(&t.split), 3000);
}

/* Whether its thread sleeps or runs there: of the time from 4000 on `part` is known. */
static void check_lasts_to_the_end(u8 state, enum split_part part)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call_of(p, 1500, 2500, &none);
	leaves(p, 4000, state);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 3000);
	CHECK_EQ(t.end_ns, 9000);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 1000);
	CHECK_EQ(t.split.ns[part], 5000);
}

TEST(a_span_in_whose_call_a_thread_is_still_lasts_to_the_end)
{
	check_lasts_to_the_end(LEAVE_sleep, SPLIT_timer);
	check_lasts_to_the_end(LEAVE_running, SPLIT_unknown);
}

/* Its context is read when it leaves its CPU: it had that in the call before, too. */
TEST(a_span_has_what_its_call_had_before_it_was_read)
{
	struct record_thread asleep = {.head = head(RECORD_thread, 3100),
				       .nr = 35,
				       .mode = MODE_syscall,
				       .state = LEAVE_sleep,
				       .since_ns = 100};
	struct partial *p = partial_new(NULL);
	struct span_time t;

	apply(p, &asleep);
	enters(p, 5000);
	leaves(p, 5500, LEAVE_sleep);
	enters(p, 6000);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 3000);
	CHECK_EQ(t.split.ns[SPLIT_timer], 2500);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 500);
	CHECK_EQ(split_total(&t.split), (s64)(t.end_ns - t.begin_ns));
}

/* With --spans-only: its thread has no span any more, and has the same one again later. */
TEST(a_span_has_no_time_in_which_its_thread_is_not_told_of)
{
	struct record_switch untold = {
		.head = head(RECORD_switch, 4000), .state = LEAVE_untold, .next_tid = 6};
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call(p, 3000);
	apply(p, &untold);
	call(p, 8000);
	t = time_of_outer(p);
	CHECK(t.begin_ns == 2000 && t.end_ns == 8000);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 2000);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 4000);
}

TEST(a_span_lasts_as_long_as_a_fault_in_it)
{
	struct record_fault fault = {
		.head = head(RECORD_fault, 5000), .duration_ns = 1000, .ctx = outer};
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call_of(p, 1500, 2500, &none);
	apply(p, &fault);
	call_of(p, 7000, 7500, &none);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 4000);
	CHECK_EQ(t.end_ns, 5000);
	CHECK_EQ(split_total(&t.split), 1000);
}

/* ---- over the limits of an answer ---- */

/*
 * A call from 2000 to 5000 in which outer was sighted first, cut at cut_ns, and another one from
 * 6000 to 6500. `known_ns`: of its time what is known from from_ns on.
 */
static void check_over_limit(u64 from_ns, u64 cut_ns, s64 known_ns)
{
	struct partial_options options = {.from_ns = from_ns};
	struct partial *p = partial_new(&options), *right = partial_new(&options);
	const struct span_share *share;
	struct span_time t;

	call_of(p, 1400, 1500, &(struct context){0});
	call_of(cut_ns < 5000 ? right : p, 2000, 5000, &outer);
	call_of(cut_ns < 6500 ? right : p, 6000, 6500, &outer);
	partial_cover(p, 1000, cut_ns);
	partial_cover(right, cut_ns, 9000);
	CHECK_EQ(partial_merge(p, right), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	CHECK_EQ(span_times(p, &t), 0);
	CHECK_EQ(p->spans.data[0]->seen.list.count, 1);
	share = &p->spans.data[0]->seen.list.data[0];
	CHECK_EQ(split_total(&share->split), known_ns);
	CHECK_EQ(t.begin_ns, 2000);
	CHECK_EQ(t.end_ns, 6500);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 4500 - known_ns);
	CHECK_EQ(split_total(&t.split), 4500);
	CHECK_EQ(split_total(&p->lives.data[0]->total), (s64)(9000 - (from_ns ? from_ns : 1000)));
	partial_free(p);
}

TEST(a_first_sighting_has_what_is_inside_of_the_limits)
{
	static const u64 cuts[] = {1200, 1600, 5500, 8000};

	for (int i = 0; i < 4; i++) {
		check_over_limit(0, cuts[i], 4500);
		check_over_limit(1900, cuts[i], 4500);
		check_over_limit(4000, cuts[i], 2500);
		check_over_limit(5600, cuts[i], 900);
		check_over_limit(6400, cuts[i], 100);
	}
}

/* With --spans-only, before its program was followed: of that only what the limit leaves. */
TEST(what_is_in_doubt_of_a_span_is_inside_of_the_limits)
{
	struct partial_options options = {.from_ns = 5000};
	struct partial *p = partial_new(&options);
	struct record_filter filter = {.head = head(RECORD_filter, 1000), .flags = FILTER_SPANS};
	struct record_filter follows = {.head = head(RECORD_filter, 6000),
					.flags = FILTER_SPANS | FILTER_FOLLOWS};
	struct span_time t;

	filter.head.tid = filter.head.pid = 0;
	apply(p, &filter);
	begins(p, 1500, 5, &outer, NULL);
	apply(p, &follows);
	call_of(p, 6200, 6300, &outer);
	span_ends(p, 8000, &outer, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 100);
	CHECK_EQ(t.split.ns[SPLIT_user], 1700);
	CHECK_EQ(t.split.ns[SPLIT_unknown], 3500 + 1200);
	CHECK_EQ(split_total(&t.split), 6500);
}

/* ---- from thread to thread ---- */

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

/* ---- a program that runs another one ---- */

/* Cut in two at a time: what is to the left of it, and the rest. */
struct halves {
	struct partial *left, *right;
	u64 cut_ns;
};

static struct partial *half_of(const struct halves *h, u64 time_ns)
{
	return time_ns < h->cut_ns ? h->left : h->right;
}

/* Asleep in an execve that began at 4000. */
static void sleeps_in_execve(const struct halves *h, u32 tid, u64 from_ns, u64 to_ns)
{
	struct record_switch out = {.head = head(RECORD_switch, from_ns),
				    .state = LEAVE_disk_sleep,
				    .mode = MODE_syscall,
				    .nr = 59,
				    .since_ns = from_ns - 4000};
	struct record_switch back = {.head = {.kind = RECORD_switch, .time_ns = to_ns},
				     .next_tid = tid};

	out.head.tid = tid;
	apply(half_of(h, from_ns), &out);
	apply(half_of(h, to_ns), &back);
}

/*
 * Thread `tid` has outer from 2000 on and in it inner until 3000. It calls execve at 4000, becomes
 * another program at 5000, as thread 5, and returns at 6000.
 */
static struct span_time time_until_exec(u32 tid, u64 cut_ns)
{
	struct halves h = {partial_new(NULL), partial_new(NULL), cut_ns};
	struct record_exec exec = {.head = head(RECORD_exec, 5000), .old_tid = tid};
	struct record_syscall r = {
		.head = head(RECORD_syscall, 6000), .nr = 59, .duration_ns = 2000, .ctx = outer};
	struct record_span_end end = {
		.head = head(RECORD_span_end, 3000), .ctx = inner, .next = outer, .flags = 1};

	end.head.tid = tid;
	begins(half_of(&h, 2000), 2000, tid, &outer, NULL);
	begins(half_of(&h, 2500), 2500, tid, &inner, &outer);
	apply(half_of(&h, 3000), &end);
	sleeps_in_execve(&h, tid, 4200, 4300);
	apply(half_of(&h, 5000), &exec);
	sleeps_in_execve(&h, 5, 5200, 5500);
	apply(half_of(&h, 6000), &r);
	call(h.right, 8000);
	CHECK_EQ(partial_merge(h.left, h.right), 0);
	return time_of_outer(h.left);
}

/* Wherever it is cut: before the call, in it, before it is another program and behind that. */
TEST(a_span_has_its_thread_until_another_program_runs)
{
	for (u64 cut_ns = 1900; cut_ns <= 7100; cut_ns += 100) {
		for (u32 tid = 5; tid <= 6; tid++) {
			struct span_time t = time_until_exec(tid, cut_ns);

			CHECK(!t.begin_soft && t.end_soft);
			CHECK_EQ(t.begin_ns, 2000);
			CHECK_EQ(t.end_ns, 5000);
			CHECK_EQ(t.threads, 1);
			CHECK_EQ(t.split.ns[SPLIT_user], 2000);
			CHECK_EQ(t.split.ns[SPLIT_kernel], 900);
			CHECK_EQ(t.split.ns[SPLIT_disk], 100);
			CHECK_EQ(split_total(&t.split), 3000);
		}
	}
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
