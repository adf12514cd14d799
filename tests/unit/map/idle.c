/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle time: what a futex is by who wakes whom, however chunks are cut, and what doubts about spans
 * change.
 */
#include "map/idle.h"

#include "apply.h"
#include "check.h"
#include "map/partial.h"

#define POOL 0x1000
#define LOCK 0x2000
#define OWN 0x3000 /* of thread n: OWN + 16 * n */
#define WAIT 128
#define WAIT_BITSET 137
#define LASTS 1000

/* One wait of a thread for a futex. */
struct futex_wait {
	u32 tid, waker; /* waker 0: it timed out */
	u64 address, begin_ns;
	u32 operation, value;
	struct context ctx;
	bool in_request;
};

static void apply_wait(struct partial *p, const struct futex_wait *w)
{
	struct record_head head = {.tid = w->tid, .pid = 100};
	struct record_switch leaves = {.head = head,
				       .nr = 202,
				       .mode = MODE_syscall,
				       .state = LEAVE_sleep,
				       .since_ns = 10,
				       .arg0 = w->address,
				       .file = work_futex(w->operation, w->value),
				       .ctx = w->ctx};
	struct record_waking wakes = {.head = head, .waker_tid = w->waker, .context = WAKE_task};
	struct record_switch enters = {.next_tid = w->tid};
	struct record_syscall ends = {.head = head,
				      .nr = 202,
				      .duration_ns = LASTS + 20,
				      .arg0 = w->address,
				      .arg1 = w->operation,
				      .arg2 = w->value,
				      .ctx = w->ctx};

	if (!w->waker)
		wakes.context = WAKE_timer;
	if (w->in_request)
		leaves.file.flags |= FILE_IN_REQUEST;
	leaves.head.kind = enters.head.kind = RECORD_switch;
	wakes.head.kind = RECORD_waking;
	ends.head.kind = RECORD_syscall;
	leaves.head.time_ns = w->begin_ns;
	wakes.head.time_ns = enters.head.time_ns = w->begin_ns + LASTS;
	ends.head.time_ns = w->begin_ns + LASTS + 10;
	apply(p, &leaves);
	apply(p, &wakes);
	apply(p, &enters);
	apply(p, &ends);
}

/* A series of waits, one after the other, in two chunks; returns the finished whole. */
static struct partial *map_waits(struct futex_wait *waits, size_t count)
{
	const struct partial_options options = {.spans = true};
	struct partial *half[2] = {partial_new(&options), partial_new(&options)};

	for (size_t i = 0; i < count; i++) {
		waits[i].begin_ns = 100000 + i * 2 * LASTS;
		apply_wait(half[i >= count / 2], &waits[i]);
	}
	partial_cover(half[0], 90000, 100000 + count / 2 * 2 * LASTS - 500);
	partial_cover(half[1], half[0]->to_ns, 100000 + count * 2 * LASTS);
	CHECK_EQ(partial_merge(half[0], half[1]), 0);
	CHECK_EQ(partial_finish(half[0]), 0);
	return half[0];
}

static s64 part_of(const struct partial *p, enum split_part part)
{
	s64 ns = 0;

	for (size_t i = 0; i < p->lives.count; i++)
		ns += p->lives.data[i]->total.ns[part];
	return ns;
}

/* All answers agree on how much of the waits is that part. */
static void check_part(const struct partial *p, enum split_part part, s64 waits)
{
	s64 calls = 0, spans = 0, durations = 0;
	struct kspan k;

	for (size_t i = 0; i < p->calls.list.count; i++)
		calls += p->calls.list.data[i].split.ns[part];
	for (size_t i = 0; i < p->waits.list.count; i++)
		if (sum_wait_part(p->waits.list.data[i].key) == part)
			durations += (s64)p->waits.list.data[i].count;
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct split split;

		kspans_get(&p->kspans, i, &k);
		split = idle_split(p, &k);
		spans += k.kind == KSPAN_SYSCALL ? split.ns[part] : 0;
		CHECK_EQ(split_total(&split), (s64)(k.end_ns - k.begin_ns));
	}
	CHECK_EQ(part_of(p, part), waits * LASTS);
	CHECK_EQ(calls, waits * LASTS);
	CHECK_EQ(spans, waits * LASTS);
	CHECK_EQ(durations, waits);
}

TEST(who_is_woken_by_others_is_a_pool)
{
	struct futex_wait waits[12];
	struct partial *p;

	for (u32 i = 0; i < 12; i++)
		waits[i] = (struct futex_wait){1 + i % 3,   50, POOL,	    0,
					       WAIT_BITSET, 0,	{{0}, {0}}, false};
	p = map_waits(waits, 12);
	check_part(p, SPLIT_idle, 12);
	check_part(p, SPLIT_lock, 0);
	partial_free(p);
}

/* One wakes the next, as threads that take turns. Half of the waits time out. */
TEST(who_wake_each_other_share_a_lock)
{
	struct futex_wait waits[24];
	struct partial *p;

	for (u32 i = 0; i < 24; i++)
		waits[i] = (struct futex_wait){1 + i % 3,   i < 12 ? 1 + (i + 1) % 3 : 0,
					       LOCK,	    0,
					       WAIT_BITSET, 0,
					       {{0}, {0}},  false};
	p = map_waits(waits, 24);
	check_part(p, SPLIT_lock, 24);
	check_part(p, SPLIT_idle, 0);
	check_part(p, SPLIT_timer, 0);
	partial_free(p);
}

/* Neither half has enough wake-ups by itself. */
TEST(few_wake_ups_tell_nothing)
{
	struct futex_wait waits[6];
	struct partial *p;

	for (u32 i = 0; i < 6; i++)
		waits[i] = (struct futex_wait){1 + i % 2,   2 - i % 2, LOCK,	   0,
					       WAIT_BITSET, 0,	       {{0}, {0}}, false};
	p = map_waits(waits, 6);
	check_part(p, SPLIT_idle, 6);
	partial_free(p);
}

/* Each thread has a futex of its own: Java's monitors, but Go's threads hand work to each other. */
TEST(who_wake_each_other_on_futexes_of_their_own_share_a_lock)
{
	for (int go = 0; go < 2; go++) {
		struct futex_wait waits[20];
		struct partial *p;

		for (u32 i = 0; i < 20; i++)
			waits[i] = (struct futex_wait){1 + i % 2,
						       2 - i % 2,
						       OWN + 16 * (i % 2),
						       0,
						       go ? WAIT : WAIT_BITSET,
						       0,
						       {{0}, {0}},
						       false};
		p = map_waits(waits, 20);
		check_part(p, go ? SPLIT_idle : SPLIT_lock, 20);
		partial_free(p);
	}
}

/*
 * Five threads on futexes of their own. Each wakes the next, as a lock goes round; or the last
 * wakes nobody, as work passes through stages.
 */
TEST(a_circle_of_any_length_is_a_lock_and_a_chain_is_not)
{
	for (u32 chain = 0; chain < 2; chain++) {
		struct futex_wait waits[50];
		struct partial *p;

		for (u32 i = 0; i < 50; i++) {
			u32 sleeper = i % 5, before = chain ? sleeper : (sleeper + 4) % 5;

			waits[i] = (struct futex_wait){
				1 + sleeper,	    chain && !before ? 50 : 1 + before - chain,
				OWN + 16 * sleeper, 0,
				WAIT_BITSET,	    0,
				{{0}, {0}},	    false};
		}
		p = map_waits(waits, 50);
		check_part(p, chain ? SPLIT_idle : SPLIT_lock, 50);
		partial_free(p);
	}
}

/* A futex of its own: half of the waits are between requests, and half within one. */
TEST(a_thread_in_a_request_is_not_idle)
{
	struct futex_wait waits[6];
	struct partial *p;

	for (u32 i = 0; i < 6; i++)
		waits[i] = (struct futex_wait){.tid = 1,
					       .waker = i < 2 ? 0 : 50,
					       .address = OWN,
					       .operation = WAIT_BITSET,
					       .in_request = i % 2};
	p = map_waits(waits, 6);
	check_part(p, SPLIT_idle, 3);
	check_part(p, SPLIT_lock, 3);
	check_part(p, SPLIT_timer, 0);
	partial_free(p);
}

/* Nobody wakes on the futex: it serves as a clock. */
TEST(a_sleep_in_a_request_is_no_lock)
{
	struct futex_wait waits[4];
	struct partial *p;

	for (u32 i = 0; i < 4; i++)
		waits[i] = (struct futex_wait){
			.tid = 1, .address = OWN, .operation = WAIT_BITSET, .in_request = true};
	p = map_waits(waits, 4);
	check_part(p, SPLIT_idle, 0);
	check_part(p, SPLIT_timer, 4);
	partial_free(p);
}

/* Where threads without a request wait, too, those with one may wait for other work. */
TEST(a_futex_of_several_threads_is_of_requests_if_all_have_one)
{
	for (u32 all = 0; all < 2; all++) {
		struct futex_wait waits[6];
		struct partial *p;

		for (u32 i = 0; i < 6; i++)
			waits[i] = (struct futex_wait){.tid = 1 + i % 2,
						       .waker = 50,
						       .address = POOL,
						       .operation = WAIT_BITSET,
						       .in_request = all || i % 3};
		p = map_waits(waits, 6);
		check_part(p, all ? SPLIT_lock : SPLIT_idle, 6);
		partial_free(p);
	}
}

/* A value that says nothing: idle with wake-ups by others only. */
TEST(what_no_value_tells_is_a_lock_unless_others_wake)
{
	struct futex_wait waits[12];
	struct partial *p;

	for (u32 i = 0; i < 12; i++)
		waits[i] = (struct futex_wait){1 + i % 3,   50,	    POOL,	0,
					       WAIT_BITSET, 10 + i, {{0}, {0}}, false};
	p = map_waits(waits, 12);
	check_part(p, SPLIT_idle, 12);
	partial_free(p);
	p = map_waits(waits, 4);
	check_part(p, SPLIT_lock, 4);
	partial_free(p);
}

TEST(under_a_span_a_wait_keeps_its_cause)
{
	struct futex_wait waits[12];
	struct partial *p;

	for (u32 i = 0; i < 12; i++)
		waits[i] = (struct futex_wait){
			1 + i % 3, 50, POOL, 0, WAIT_BITSET, 0, {{1}, {0, 0, 0, 0, 0, 0, 0, 1}},
			false};
	p = map_waits(waits, 12);
	check_part(p, SPLIT_lock, 12);
	check_part(p, SPLIT_idle, 0);
	partial_free(p);
}

/* Nothing says which span a thread had while its program lost records. */
TEST(a_process_that_lost_records_is_not_idle)
{
	struct futex_wait waits[12];
	struct record_lost lost = {.head = {.kind = RECORD_lost, .tid = 100, .pid = 100},
				   .why = LOST_application,
				   .count = 1,
				   .begin_ns = 95000};
	struct partial *p = partial_new(NULL);

	lost.head.time_ns = 96000;
	apply(p, &lost);
	for (u32 i = 0; i < 12; i++) {
		waits[i] = (struct futex_wait){1 + i % 3,   50, POOL,	    100000 + i * 2 * LASTS,
					       WAIT_BITSET, 0,	{{0}, {0}}, false};
		apply_wait(p, &waits[i]);
	}
	partial_cover(p, 90000, 200000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(part_of(p, SPLIT_idle), 0);
	CHECK_EQ(part_of(p, SPLIT_lock), 12 * LASTS);
	partial_free(p);
}

TEST_MAIN()
