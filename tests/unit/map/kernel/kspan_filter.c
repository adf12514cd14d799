/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "map/partial.h"
#include "simulate.h"

#define THREADS 6

static u64 middle(const struct simulation *s)
{
	return s->from_ns + (s->to_ns - s->from_ns) / 2;
}

/* Two halves, so that options go through a merge. */
static struct partial *mapped(const struct simulation *s, const struct kspan_filter *only)
{
	const struct partial_options options = {.spans = true, .only = only};
	struct partial *left = partial_new(&options), *right = partial_new(&options);
	u64 cut_ns = middle(s);

	partial_cover(left, s->from_ns, cut_ns);
	partial_cover(right, cut_ns, s->to_ns);
	for (size_t i = 0; i < s->records.count; i++) {
		struct partial *p = s->records.data[i].time_ns < cut_ns ? left : right;

		CHECK_EQ(partial_apply(p, simulation_record(s, i)), 0);
	}
	CHECK_EQ(partial_merge(left, right), 0);
	CHECK_EQ(partial_finish(left), 0);
	return left;
}

static bool under_a_span(const struct kspan *k)
{
	static const struct context nobody;

	return memcmp(&k->ctx, &nobody, sizeof(nobody)) != 0;
}

static bool is_wanted(const struct kspan_filter *only, const struct kspan *k)
{
	if (k->kind == KSPAN_BLOCK)
		return true;
	if (only->pid && k->pid != only->pid)
		return false;
	/* an exec may give a thread the number of its leader */
	if (only->tid && k->tid != only->tid && k->pid != only->tid)
		return false;
	if (only->traced && !under_a_span(k))
		return false;
	for (size_t i = 0; i < only->traces_count; i++)
		if (!memcmp(k->ctx.trace, only->traces[i], 16))
			return true;
	return !only->traces;
}

static void check_same(const struct kspan *a, const struct kspan *b)
{
	CHECK_EQ(a->kind, b->kind);
	CHECK_EQ(a->begin_ns, b->begin_ns);
	CHECK_EQ(a->end_ns, b->end_ns);
	CHECK_EQ(a->tid, b->tid);
	CHECK_EQ(a->nr, b->nr);
	CHECK_MEM(&a->ctx, &b->ctx, sizeof(a->ctx));
	CHECK_MEM(&a->split, &b->split, sizeof(a->split));
}

/* Whether the call or fault in which a wait lies is wanted. */
static bool lies_in_kept(const struct partial *p, const struct kspan_filter *only,
			 const struct kspan *wait)
{
	struct kspan k;

	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		kspans_get(&p->kspans, i, &k);
		if (k.begin_ns <= wait->begin_ns && k.end_ns >= wait->end_ns &&
		    k.tid == wait->tid && k.kind <= KSPAN_FAULT && is_wanted(only, &k))
			return true;
	}
	return false;
}

/*
 * The next that is wanted. Others are there only if they lie in a call or fault that is wanted, or
 * of which the left half did not know whether it is.
 */
static bool next_wanted(const struct simulation *s, const struct partial *p,
			const struct kspan_filter *only, size_t *at, struct kspan *k)
{
	while (*at < kspans_count(&p->kspans)) {
		kspans_get(&p->kspans, (*at)++, k);
		if (is_wanted(only, k))
			return true;
		if (k->kind == KSPAN_FAULT) { /* of the kernel, in a call */
			CHECK(!(k->args[2] & FAULT_USER));
			CHECK(k->begin_ns < middle(s) || lies_in_kept(p, only, k));
			continue;
		}
		CHECK_EQ(k->kind, KSPAN_WAIT);
		CHECK(k->visit_ns > 0 || (k->mode & MODE_MASK) == MODE_syscall);
		CHECK(k->visit_ns < middle(s) || lies_in_kept(p, only, k));
	}
	return false;
}

/* What is kept is what would be left of all, in the same order. Returns how much. */
static size_t check_filter(const struct simulation *s, const struct partial *all,
			   const struct kspan_filter *only)
{
	struct partial *p = mapped(s, only);
	size_t at = 0, wanted = 0;
	struct kspan k, kept;

	for (size_t i = 0; i < kspans_count(&all->kspans); i++) {
		kspans_get(&all->kspans, i, &k);
		if (!is_wanted(only, &k))
			continue;
		CHECK(next_wanted(s, p, only, &at, &kept));
		check_same(&kept, &k);
		wanted++;
	}
	CHECK(!next_wanted(s, p, only, &at, &kept));
	CHECK_EQ(p->calls.list.count, all->calls.list.count);
	for (size_t i = 0; i < p->calls.list.count; i++)
		CHECK_EQ(p->calls.list.data[i].count, all->calls.list.data[i].count);
	partial_free(p);
	return wanted;
}

TEST(only_what_is_asked_for_is_kept)
{
	for (u64 seed = 1; seed < 20; seed++) {
		struct simulation s = {0};
		struct kspan_filter traced = {.traced = true};
		struct kspan_filter trace = {.traced = true, .traces_count = 1}, none = trace;
		static const u8 nowhere[1][16] = {{0xee}};
		struct partial *all;
		struct kspan k, under = {0};
		size_t of_all, of_trace;

		simulate(&s, seed, THREADS, 300);
		all = mapped(&s, NULL);
		of_all = check_filter(&s, all, &traced);
		CHECK(of_all > 0 && of_all < kspans_count(&all->kspans));
		for (size_t i = 0; i < kspans_count(&all->kspans); i++) {
			kspans_get(&all->kspans, i, &k);
			if (under_a_span(&k))
				under = k;
		}
		trace.traces = &under.ctx.trace;
		of_trace = check_filter(&s, all, &trace);
		CHECK(of_trace > 0 && of_trace <= of_all);
		none.traces = nowhere;
		CHECK(check_filter(&s, all, &none) < of_trace);
		for (int i = 0; i < THREADS; i++) {
			struct kspan_filter one = {.pid = s.threads.data[i].pid};

			CHECK(check_filter(&s, all, &one) > 0);
			one.tid = s.threads.data[i].tid;
			CHECK(check_filter(&s, all, &one) > 0);
		}
		partial_free(all);
		simulation_free(&s);
	}
}

/* It was woken before it was seen again: that wait says nothing of a span, but its call does. */
TEST(a_wait_before_its_thread_was_seen_stays_with_its_call)
{
	static const struct kspan_filter only = {.traced = true};
	const struct partial_options options = {.spans = true, .only = &only};
	const struct record_head head = {.tid = 7, .pid = 7};
	struct record_waking waking = {.head = head, .context = WAKE_timer};
	struct record_switch enters = {.head = {.kind = RECORD_switch, .time_ns = 2500},
				       .next_tid = 7};
	struct record_thread asleep = {.head = head,
				       .nr = 35,
				       .mode = MODE_syscall,
				       .state = LEAVE_sleep,
				       .since_ns = 100};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 1400}, .begin_ns = 1300};
	struct record_switch leaves = {.head = head,
				       .state = LEAVE_sleep,
				       .mode = MODE_syscall,
				       .nr = 35,
				       .since_ns = 1600,
				       .ctx = {{1}, {1}}};
	struct record_syscall call = {
		.head = head, .nr = 35, .duration_ns = 2900, .ctx = {{1}, {1}}};
	struct partial *p = partial_new(&options);

	asleep.head.kind = RECORD_thread;
	asleep.head.time_ns = 1100;
	waking.head.kind = RECORD_waking;
	waking.head.time_ns = 1500;
	leaves.head.kind = RECORD_switch;
	leaves.head.time_ns = 2600;
	call.head.kind = RECORD_syscall;
	call.head.time_ns = 3900;
	CHECK_EQ(partial_apply(p, &asleep.head), 0);
	CHECK_EQ(partial_apply(p, &gap.head), 0);
	CHECK_EQ(partial_apply(p, &waking.head), 0);
	CHECK_EQ(partial_apply(p, &enters.head), 0);
	CHECK_EQ(partial_apply(p, &leaves.head), 0);
	enters.head.time_ns = 3500;
	CHECK_EQ(partial_apply(p, &enters.head), 0);
	CHECK_EQ(partial_apply(p, &call.head), 0);
	partial_cover(p, 1000, 4000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(kspans_count(&p->kspans), 4); /* the call and its waits, on both sides of a gap */
	partial_free(p);
}

/* Of a call that was open when recording began the context is read at its end. */
TEST(a_fault_stays_with_the_call_that_it_lies_in)
{
	static const struct kspan_filter only = {.traced = true};
	const struct partial_options options = {.spans = true, .only = &only};
	struct record_fault fault = {
		.head = {.kind = RECORD_fault, .tid = 7, .pid = 7, .time_ns = 2000},
		.duration_ns = 100};
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = 3000},
		.nr = 7,
		.duration_ns = 1500,
		.ctx = {{1}, {1}}};
	struct partial *p = partial_new(&options);

	CHECK_EQ(partial_apply(p, &fault.head), 0);
	CHECK_EQ(partial_apply(p, &call.head), 0);
	fault.head.time_ns = 3500; /* and one in a call of no span */
	call.head.time_ns = 3900;
	call.duration_ns = 800;
	call.ctx = (struct context){{0}, {0}};
	CHECK_EQ(partial_apply(p, &fault.head), 0);
	CHECK_EQ(partial_apply(p, &call.head), 0);
	partial_cover(p, 1000, 4000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(kspans_count(&p->kspans), 2);
	partial_free(p);
}

/* Where calls are left out nothing says in which they lie: they are kept once there are many. */
TEST(faults_that_wait_are_bounded)
{
	static const struct kspan_filter only = {.traced = true};
	const struct partial_options options = {.spans = true, .only = &only};
	struct record_fault fault = {.head = {.kind = RECORD_fault, .tid = 7, .pid = 7},
				     .duration_ns = 5};
	struct record_syscall call = {.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7}};
	struct partial *p = partial_new(&options);

	call.head.time_ns = 900;
	CHECK_EQ(partial_apply(p, &call.head), 0);
	for (u64 i = 1; i <= 100000; i++) {
		fault.head.time_ns = 1000 + 10 * i;
		CHECK_EQ(partial_apply(p, &fault.head), 0);
	}
	CHECK_EQ(kspans_count(&p->kspans), 65537);
	CHECK_EQ(p->undecided_faults, 100000 - 65537);
	call.head.time_ns = fault.head.time_ns + 10;
	call.duration_ns = 5;
	CHECK_EQ(partial_apply(p, &call.head), 0);
	CHECK_EQ(p->undecided_faults, 0);
	partial_free(p);
}

TEST_MAIN()
