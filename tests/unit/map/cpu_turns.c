/* SPDX-License-Identifier: Apache-2.0 */
/* Who had a CPU for which a thread waited, however the recording is cut. */
#include "map/cpu_turns.h"

#include "apply.h"
#include "check.h"
#include "map/kernel/call_sums.h"
#include "map/partial.h"

#define WAITER 5
#define BEGIN 100000
#define TURNS 12
#define END (BEGIN + 1000 * (TURNS + 2))

static void cpu_goes(struct partial *p, u64 time_ns, u32 from, u32 to)
{
	struct record_switch sw = {
		.head = {.kind = RECORD_switch, .time_ns = time_ns, .tid = from, .pid = from},
		.next_tid = to,
		.nr = 7,
		.mode = MODE_user,
		.state = LEAVE_preempted};

	apply(p, &sw);
}

/*
 * The waiter loses the CPU, which goes round among three others for `turns` turns of 1000 ns each.
 * Cut before the record number `cut`.
 */
static struct partial *map_turns(u32 turns, u32 cut)
{
	struct partial *half[2] = {partial_new(NULL), partial_new(NULL)};
	u32 had = WAITER;

	for (u32 i = 0; i <= turns; i++) {
		u32 next = i == turns ? WAITER : 10 + i % 3;

		cpu_goes(half[i >= cut], BEGIN + 1000 * i, had, next);
		had = next;
	}
	partial_cover(half[0], BEGIN - 500, BEGIN + 1000 * cut - 500);
	partial_cover(half[1], BEGIN + 1000 * cut - 500, END);
	CHECK_EQ(partial_merge(half[0], half[1]), 0);
	CHECK_EQ(partial_finish(half[0]), 0);
	return half[0];
}

static s64 had_by(const struct partial *p, u32 tid)
{
	s64 ns = 0;

	for (size_t i = 0; i < p->waits.list.count; i++) {
		const struct sum *sum = &p->waits.list.data[i];
		u64 kind = sum->key >> SUM_WAIT_WAKER_SHIFT & SUM_WAIT_WAKER_MASK;

		if (sum->pid == WAITER && sum_wait_part(sum->key) == SPLIT_runnable &&
		    kind == (tid ? SUM_WAIT_HAD_CPU : 0) &&
		    (u32)(sum->key >> SUM_WAIT_TID_SHIFT) == tid)
			ns += sum->split.ns[SPLIT_runnable];
	}
	return ns;
}

TEST(a_wait_is_shared_by_who_had_the_cpu)
{
	for (u32 cut = 1; cut <= 6; cut++) {
		struct partial *p = map_turns(6, cut);

		for (u32 tid = 10; tid < 13; tid++)
			CHECK_EQ(had_by(p, tid), 2000);
		CHECK_EQ(had_by(p, 0), 0);
		partial_free(p);
	}
}

TEST(of_many_turns_the_last_ones_are_known)
{
	for (u32 cut = 1; cut <= TURNS; cut++) {
		struct partial *p = map_turns(TURNS, cut);

		CHECK_EQ(had_by(p, 12), 3000); /* it had the last one */
		CHECK_EQ(had_by(p, 11), 2000);
		CHECK_EQ(had_by(p, 10), 2000);
		CHECK_EQ(had_by(p, 0), 1000 * (TURNS - TURNS_MAX));
		partial_free(p);
	}
}

/* What was before a gap is not known behind it. */
TEST(a_gap_parts_turns)
{
	struct partial *left = partial_new(NULL), *right = partial_new(NULL);
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = BEGIN + 5000},
				 .begin_ns = BEGIN + 2000};

	cpu_goes(left, BEGIN, WAITER, 10);
	cpu_goes(left, BEGIN + 1000, 10, 11);
	apply(right, &gap);
	cpu_goes(right, BEGIN + 6000, 12, WAITER);
	partial_cover(left, BEGIN - 500, BEGIN + 2000);
	partial_cover(right, BEGIN + 5000, END);
	CHECK_EQ(partial_merge(left, right), 0);
	CHECK_EQ(left->turns.cpus.data[0].count, 1);
	CHECK_EQ(partial_finish(left), 0);
	CHECK_EQ(had_by(left, 11), 0);
	partial_free(left);
}

TEST_MAIN()
