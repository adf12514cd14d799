/* SPDX-License-Identifier: Apache-2.0 */
/* Time that many losses leave in doubt, and losses on many CPUs at once. */
#include "cpu_time.h"
#include "map/life_sink.h"
#include "map/partial.h"
#include "one_thread.h"

/* Records of CPU 100 + i are missing from from_ns + i on, for each i below `count`. */
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

/* A thread off its CPU may have run on any CPU that misses records, since the first loss began. */
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

/* ---- losses that are told at once ---- */

static u64 seed;

static u64 any_below(u64 limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % limit;
}

/* Feeds records of thread 5 and losses twice: losses in one stretch, and one by one. */
struct told {
	struct partial *left, *right; /* right: what comes behind the cut */
	struct partial *to;
	struct life one_by_one;
	struct partial *sums; /* what that tells; of no interest */
	u64 now_ns;
};

static void each_feed(struct told *t, enum life_event event, const void *record)
{
	struct life_sink sink = partial_sink(t->sums);

	CHECK_EQ(life_feed(&t->one_by_one, event, record, &sink), 0);
}

static void told_loss(struct told *t)
{
	u16 cpu = (u16)any_below(4);
	struct record_lost r = {
		.head = {.kind = RECORD_lost, .cpu = cpu == 3 ? LIFE_CPU_UNKNOWN : cpu},
		.why = LOST_buffer,
		.count = 1};

	t->now_ns += any_below(30);
	r.head.time_ns = t->now_ns;
	r.begin_ns = t->now_ns - 1 - any_below(any_below(5) ? 20 : 400);
	apply(t->to, &r);
	each_feed(t, LIFE_LOST, &r);
}

static void told_switch(struct told *t, bool enters)
{
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = (u16)any_below(3), .time_ns = t->now_ns}};

	if (enters) {
		r.next_tid = 5;
	} else {
		r.head.tid = r.head.pid = 5;
		r.mode = any_below(2) ? MODE_user : MODE_syscall;
		r.since_ns = r.mode == MODE_user ? 0 : any_below(60);
		r.state = any_below(2) ? LEAVE_preempted : LEAVE_sleep;
	}
	apply(t->to, &r);
	each_feed(t, enters ? LIFE_ENTERS : LIFE_LEAVES, &r);
}

static void told_waking(struct told *t)
{
	struct record_waking r = {
		.head = {.kind = RECORD_waking, .time_ns = t->now_ns, .tid = 5, .pid = 5}};

	apply(t->to, &r);
	each_feed(t, LIFE_WAKING, &r);
}

static void told_record(struct told *t)
{
	t->now_ns += any_below(50);
	switch (any_below(3)) {
	case 0:
		told_waking(t);
		break;
	case 1:
		told_switch(t, true);
		break;
	default:
		told_switch(t, false);
	}
}

/* Feeds `parts` times some losses in a row, then a record. */
static void told_some(struct told *t, u64 parts)
{
	while (parts--) {
		for (u64 i = any_below(40); i > 0; i--)
			told_loss(t);
		if (any_below(8))
			told_record(t);
	}
}

static void told_begin(struct told *t, u64 with)
{
	*t = (struct told){.left = partial_new(NULL),
			   .right = partial_new(NULL),
			   .sums = partial_new(NULL),
			   .now_ns = 2000};
	t->to = t->left;
	life_init(&t->one_by_one, 5);
	seed = with;
}

static void told_end(struct told *t)
{
	life_free(&t->one_by_one);
	partial_free(t->left);
	partial_free(t->right);
	partial_free(t->sums);
}

static void check_told(u64 with)
{
	struct told t;
	struct life_sink sink;
	u64 cut_ns;

	told_begin(&t, with);
	sink = partial_sink(t.sums);
	told_some(&t, any_below(6));
	cut_ns = t.now_ns;
	t.to = t.right;
	told_some(&t, any_below(6));
	told_record(&t);
	for (u64 i = any_below(40); i > 0; i--)
		told_loss(&t);
	partial_cover(t.left, 1000, cut_ns);
	partial_cover(t.right, cut_ns, t.now_ns + 10);
	CHECK_EQ(partial_merge(t.left, t.right), 0);
	t.right = NULL;
	CHECK_EQ(partial_finish(t.left), 0);
	CHECK_EQ(life_finish(&t.one_by_one, 1000, t.now_ns + 10, &sink), 0);
	CHECK_EQ(t.left->lives.count, 1);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		if (t.left->lives.data[0]->total.ns[i] != t.one_by_one.total.ns[i])
			CHECK_FAIL("seed %llu: part %d: %lld, one by one %lld",
				   (unsigned long long)with, i,
				   (long long)t.left->lives.data[0]->total.ns[i],
				   (long long)t.one_by_one.total.ns[i]);
	told_end(&t);
}

TEST(losses_told_at_once_leave_what_each_leaves)
{
	for (u64 i = 1; i <= 20000; i++)
		check_told(i);
}

static void lost_on_cpu0(struct partial *p, u64 begin_ns, u64 end_ns)
{
	struct record_lost r = {.head = {.kind = RECORD_lost, .time_ns = end_ns},
				.why = LOST_buffer,
				.count = 1,
				.begin_ns = begin_ns};

	apply(p, &r);
}

/* The waking says nothing of one that was preempted: what was lost up to it still counts. */
TEST(a_loss_that_ends_with_the_last_record_counts)
{
	struct partial *p = partial_new(NULL), *right = partial_new(NULL);
	struct record_waking waking = {
		.head = {.kind = RECORD_waking, .time_ns = 2000, .tid = 5, .pid = 5}};

	switches(p, 900, 0, true);
	switches(p, 1000, 0, false);
	partial_cover(p, 900, 1100);
	apply(right, &waking);
	lost_on_cpu0(right, 1500, 2000);
	for (u64 i = 0; i < 5; i++)
		lost_on_cpu0(right, 2500 + 100 * i, 2510 + 100 * i);
	switches(right, 4000, 0, true);
	partial_cover(right, 1100, 4000);
	CHECK_EQ(partial_merge(p, right), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_runnable], 500);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_unknown], 2500);
	partial_free(p);
}

/* Told of each loss, a thread that sleeps all the time would keep thousands. */
TEST(a_thread_of_which_little_is_known_keeps_few_losses)
{
	const struct life *l;
	struct told t;

	told_begin(&t, 1);
	told_waking(&t);
	for (int i = 0; i < 5000; i++)
		told_loss(&t);
	told_waking(&t);
	l = t.left->lives.data[0];
	CHECK(!l->settled);
	CHECK(l->head_bytes < 2000);
	CHECK(t.one_by_one.head_bytes > 50 * l->head_bytes);
	told_end(&t);
}

static void lost_on_100_cpus(struct partial *p, u64 from_ns)
{
	for (u16 i = 0; i < 300; i++) {
		struct record_lost r = {.head = {.kind = RECORD_lost,
						 .cpu = (u16)(i % 100),
						 .time_ns = from_ns + 20 + 10u * i},
					.why = LOST_buffer,
					.count = 1,
					.begin_ns = from_ns + 15 + 10u * i};

		apply(p, &r);
	}
}

/* How many bytes it keeps of losses of 100 CPUs, when so many were kept before. */
static size_t kept_of_many_cpus(u64 before)
{
	struct partial *p = partial_new(NULL);
	struct record_waking waking = {
		.head = {.kind = RECORD_waking, .time_ns = 1000, .tid = 5, .pid = 5}};
	size_t bytes;

	apply(p, &waking);
	lost_on_100_cpus(p, 1000);
	waking.head.time_ns = 9000;
	apply(p, &waking); /* the index of CPUs is there from now on */
	p->losses_kept = before;
	lost_on_100_cpus(p, 10000);
	bytes = p->lives.data[0]->head_bytes;
	waking.head.time_ns = 19000;
	apply(p, &waking);
	bytes = p->lives.data[0]->head_bytes - bytes;
	partial_free(p);
	return bytes;
}

/* A crafted chunk must not make each of many threads keep one for each of many CPUs. */
TEST(what_is_kept_of_many_cpus_is_bounded)
{
	size_t apart = kept_of_many_cpus(0);

	CHECK(apart > 100 * sizeof(struct record_lost));
	CHECK(apart < 200 * sizeof(struct record_lost));
	CHECK(kept_of_many_cpus((u64)1 << 20) < 6 * sizeof(struct record_lost));
}

/* Records that are missing up to the end of a chunk are one loss, not one for each record. */
TEST(what_is_missing_in_a_tail_is_one_loss)
{
	struct partial *p = partial_new(NULL), *behind = partial_new(NULL);
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 9000}, .begin_ns = 6000};

	partial_streams(p, 1000, 2000);
	for (u64 i = 0; i < 1000; i++)
		switches(p, 1500 + 4 * i, 0, i % 2 == 0);
	partial_cover(p, 1000, 6000);
	apply(behind, &gap);
	partial_cover(behind, 9000, 9500);
	CHECK_EQ(partial_merge(p, behind), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->losses.count, 1);
	CHECK_EQ(p->losses.data[0].begin_ns, 2000);
	CHECK_EQ(p->losses.data[0].head.time_ns, 6000);
	CHECK_EQ(p->lives.count, 1);
	CHECK_EQ(split_total(&p->lives.data[0]->total), 5000);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_user], 252);
	partial_free(p);
}

/* The end of a call was lost: the call ended with its thread at the latest. */
TEST(a_call_does_not_outlast_its_thread)
{
	struct record_switch sw = {.head = head(RECORD_switch, 2000),
				   .mode = MODE_syscall,
				   .state = LEAVE_sleep,
				   .since_ns = 500};
	struct record_lost lost = {
		.head = {.kind = RECORD_lost, .cpu = LIFE_CPU_UNKNOWN, .time_ns = 3000},
		.count = 1,
		.begin_ns = 2500};
	struct record_exit exits = {.head = head(RECORD_exit, 4000)};
	struct partial_options options = {.spans = true};
	struct partial *p = partial_new(&options);
	bool found = false;

	partial_cover(p, 1000, 9000);
	switches(p, 1000, 0, true);
	apply(p, &sw);
	apply(p, &lost);
	apply(p, &exits);
	lost.head.time_ns = 6000;
	lost.begin_ns = 5000;
	apply(p, &lost);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		CHECK_EQ(k.end_ns, 4000);
		CHECK(k.open);
		found |= k.kind == KSPAN_SYSCALL && k.begin_ns == 1500;
	}
	CHECK(found);
	CHECK_EQ(p->calls.list.data[0].durations.max, 2500);
	partial_free(p);
}

TEST_MAIN()
