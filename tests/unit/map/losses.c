/* SPDX-License-Identifier: Apache-2.0 */
/* Many CPUs of which records are missing at once. */
#include "cpu_time.h"
#include "one_thread.h"

/* From from_ns on records of CPU 100 + i are missing, for each i below `count`. */
static void holes_begin(struct partial *p, u64 from_ns, u16 count)
{
	for (u16 i = 0; i < count; i++) {
		struct record_lost r = {.head = {.kind = RECORD_lost,
						 .cpu = (u16)(100 + i),
						 .time_ns = from_ns + i},
					.why = LOST_damaged,
					.count = LOST_BEGINS,
					.begin_ns = from_ns + i};

		apply(p, &r);
	}
}

static void hole_ends(struct partial *p, u64 from_ns, u16 i, u64 to_ns)
{
	struct record_lost r = {
		.head = {.kind = RECORD_lost, .cpu = (u16)(100 + i), .time_ns = to_ns},
		.why = LOST_damaged,
		.count = 1,
		.begin_ns = from_ns + i};

	apply(p, &r);
}

/* Thread 5 comes from, or goes to, another one of the same CPU. */
static void switches(struct partial *p, u64 time_ns, u16 cpu, bool enters)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .cpu = cpu, .time_ns = time_ns},
				  .state = LEAVE_preempted};

	if (enters) {
		r.next_tid = 5;
	} else {
		r.head.tid = r.head.pid = 5;
		r.mode = MODE_user;
	}
	apply(p, &r);
}

/* ---- what they leave in doubt ---- */

/* On `cpu` from 2000 to 4000; from 3000 on records of `holes` CPUs are missing. What it had. */
static struct split ran(u16 cpu, u16 holes)
{
	struct partial *p = partial_new(NULL);
	struct split split;

	partial_cover(p, 1000, 6000);
	switches(p, 1000, 0, true);
	switches(p, 1100, 0, false);
	switches(p, 2000, cpu, true);
	holes_begin(p, 3000, holes);
	switches(p, 4000, cpu, false);
	CHECK_EQ(p->lives.count, 1);
	split = p->lives.data[0]->total;
	partial_free(p);
	return split;
}

TEST(few_holes_concern_who_is_on_their_cpus)
{
	struct split split = ran(0, 40);

	CHECK_EQ(split.ns[SPLIT_unknown], 0);
	CHECK_EQ(split.ns[SPLIT_user], 2000);
	split = ran(110, 40);
	CHECK_EQ(split.ns[SPLIT_unknown], 2000); /* the end of a call can be missing */
	split = ran(150, 40);
	CHECK_EQ(split.ns[SPLIT_unknown], 0);
	split = ran(0, 65);
	CHECK_EQ(split.ns[SPLIT_unknown], 2000);
}

/* Off its CPU it may have been on any of them, since the first that is missing began. */
static s64 waited(u16 holes, bool cut)
{
	struct partial *p = partial_new(NULL), *right = partial_new(NULL), *to = cut ? right : p;
	s64 runnable;

	partial_cover(p, 1000, 3000);
	switches(p, 1000, 0, true);
	switches(p, 2000, 0, false);
	holes_begin(to, 3000, holes);
	switches(to, 5000, 0, true);
	partial_cover(to, 3000, 5000);
	CHECK_EQ(partial_merge(p, right), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 1);
	runnable = p->lives.data[0]->total.ns[SPLIT_runnable];
	CHECK_EQ(split_total(&p->lives.data[0]->total), 4000);
	partial_free(p);
	return runnable;
}

TEST(one_that_waits_may_have_run_since_the_first_hole)
{
	static const u16 holes[] = {1, 64, 65, 1024, 1025, 2000};

	for (int cut = 0; cut < 2; cut++) {
		CHECK_EQ(waited(0, cut), 3000);
		for (int i = 0; i < 6; i++)
			CHECK_EQ(waited(holes[i], cut), 1000);
	}
}

TEST(since_when_something_is_missing_is_known_as_holes_end)
{
	struct partial *p = partial_new(NULL), *right = partial_new(NULL);

	holes_begin(p, 3000, 100);
	CHECK_EQ(p->holes_since_ns, 3000);
	hole_ends(p, 3000, 50, 4000);
	CHECK_EQ(p->holes_since_ns, 3000);
	for (u16 i = 0; i < 20; i++)
		hole_ends(p, 3000, i, 4000);
	CHECK_EQ(p->holes_since_ns, 3020);
	CHECK_EQ(p->holes.count, 79);
	for (u16 i = 20; i < 100; i++)
		hole_ends(p, 3000, i, 4000);
	CHECK_EQ(p->holes.count, 0);
	holes_begin(right, 6000, 2);
	CHECK_EQ(partial_merge(p, right), 0);
	CHECK_EQ(p->holes_since_ns, 6000);
	partial_free(p);
}

/* ---- many ---- */

/* Two threads in turn, in the sight of so many holes. */
static double map_with(u16 holes)
{
	struct partial *p = partial_new(NULL);
	struct record_switch r = {.head = {.kind = RECORD_switch}, .state = LEAVE_preempted};
	double begun;

	partial_cover(p, 1000, 100000000);
	holes_begin(p, 1000, holes);
	begun = cpu_seconds();
	for (u32 i = 0; i < 100000; i++) {
		r.head.tid = r.head.pid = 10 + i % 2;
		r.next_tid = 11 - i % 2;
		r.head.time_ns = 5000 + 100 * i;
		r.mode = MODE_user;
		apply(p, &r);
	}
	begun = cpu_seconds() - begun;
	CHECK_EQ(p->lives.count, 2);
	partial_free(p);
	return begun;
}

/* If each record looked at all of them, it would take a hundred times as long. */
TEST(records_do_not_look_at_each_of_many_holes)
{
	double none = map_with(0), few = map_with(64), many = map_with(1024);

	CHECK(few < 10 * none);
	CHECK(many < 10 * none);
}

TEST_MAIN()
