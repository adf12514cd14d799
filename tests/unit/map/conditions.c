/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under what conditions a recording was made: steal time inside the limits,
 * and filters, which make user time unknown however the records are cut.
 */
#include "check.h"
#include "map/partial.h"

static void apply_steal(struct partial *p, u32 cpu, u64 from, u64 to, u64 ns)
{
	struct record_steal r = {.head = {.kind = RECORD_steal, .time_ns = to},
				 .of_cpu = cpu,
				 .steal_ns = ns,
				 .begin_ns = from};

	CHECK_EQ(partial_apply(p, &r.head), 0);
}

TEST(steal_is_summed_inside_the_limits)
{
	struct partial_options options = {.from_ns = 1500, .to_ns = 3000};
	struct partial *a = partial_new(&options), *b = partial_new(&options);

	partial_cover(a, 1000, 2000);
	partial_cover(b, 2000, 4000);
	apply_steal(a, 0, 1000, 2000, 100);
	apply_steal(a, 2, 1000, 2000, 10);
	apply_steal(b, 1, 2000, 4000, 40);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	CHECK_EQ(a->steal_ns, 50 + 5 + 20);
	CHECK_EQ(a->cpus, 3);
	partial_free(a);
}

static void apply_thread(struct partial *p, u64 from)
{
	struct record_syscall r = {.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7},
				   .nr = 110,
				   .duration_ns = 100};

	for (u64 t = from + 1000; t <= from + 5000; t += 1000) {
		r.head.time_ns = t;
		CHECK_EQ(partial_apply(p, &r.head), 0);
	}
}

/* `part` has all that is not in a call. */
static void check_split(u32 filters, enum split_part part)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = 100001},
				       .flags = filters};
	struct partial_options options = {0};
	struct partial *a = partial_new(&options), *b = partial_new(&options);

	/* only the first half says it */
	CHECK_EQ(partial_apply(a, &filter.head), 0);
	apply_thread(a, 100000);
	apply_thread(b, 105000);
	partial_cover(a, 100000, 105000);
	partial_cover(b, 105000, 110000);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	CHECK_EQ(a->lives.count, 1);
	CHECK_EQ(a->lives.data[0]->total.ns[SPLIT_kernel], 1000);
	CHECK_EQ(a->lives.data[0]->total.ns[part], 9000);
	partial_free(a);
}

TEST(what_was_left_out_is_no_user_code)
{
	check_split(0, SPLIT_user);
	check_split(FILTER_SYSCALLS, SPLIT_cpu);
	check_split(FILTER_SPANS, SPLIT_unknown);
}

static const struct context some_span = {{1}, {0, 0, 0, 0, 0, 0, 0, 2}};

#define BEFORE_A_GAP 0x80000000 /* the filters were those of another recording */

/*
 * Thread 7 asks once for its parent, then sleeps on a file in a call that goes on at the end of the
 * recording, as a switch tells, or (of a thread that sleeps all the time) the snapshot.
 */
static struct partial *asleep(u32 filters, bool snapshot, const struct context *ctx)
{
	static const struct file_ref file = {.key = 11, .kind = FILE_KIND_pipe};
	const struct partial_options options = {.spans = true};
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = 1001},
				       .flags = filters & ~BEFORE_A_GAP};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 1100}, .begin_ns = 1050};
	struct record_head head = {.tid = 7, .pid = 7, .kind = RECORD_syscall, .time_ns = 1500};
	struct record_syscall call = {.head = head, .nr = 110, .duration_ns = 100};
	struct record_switch sw = {.head = head,
				   .state = LEAVE_sleep,
				   .mode = MODE_syscall,
				   .nr = 232,
				   .since_ns = 100,
				   .file = file};
	struct record_thread th = {.head = head,
				   .state = LEAVE_sleep,
				   .mode = MODE_syscall,
				   .nr = 232,
				   .since_ns = 100,
				   .file = file};
	struct partial *a = partial_new(&options), *b = partial_new(&options);

	sw.head.kind = RECORD_switch;
	sw.head.time_ns = 3000;
	th.head.kind = RECORD_thread;
	sw.ctx = th.ctx = *ctx;
	if (filters)
		CHECK_EQ(partial_apply(a, &filter.head), 0);
	if (filters & BEFORE_A_GAP)
		CHECK_EQ(partial_apply(a, &gap.head), 0);
	if (snapshot)
		CHECK_EQ(partial_apply(a, &th.head), 0);
	else
		CHECK_EQ(partial_apply(a, &call.head), 0);
	if (!snapshot)
		CHECK_EQ(partial_apply(b, &sw.head), 0);
	partial_cover(a, 1000, 2000);
	partial_cover(b, 2000, 5000);
	CHECK_EQ(partial_merge(a, b), 0);
	CHECK_EQ(partial_finish(a), 0);
	return a;
}

/* What sums have counted whose keys are the same but for the bits outside of the mask. */
static u64 counted(const struct sums *sums, u64 key, u64 mask)
{
	u64 count = 0;

	for (size_t i = 0; i < sums->list.count; i++)
		if ((sums->list.data[i].key & mask) == key)
			count += sums->list.data[i].count;
	return count;
}

/* The number of sums that tell a file. */
static u64 of_files(const struct sums *sums)
{
	u64 count = 0;

	for (size_t i = 0; i < sums->list.count; i++)
		count += sums->list.data[i].file.kind != 0;
	return count;
}

static void check_asleep(u32 filters, bool snapshot, const struct context *ctx, u64 counts)
{
	struct partial *p = asleep(filters, snapshot, ctx);
	size_t open = 0;

	CHECK_EQ(counted(&p->calls, 232, SUM_CALL_MASK), counts);
	CHECK_EQ(counted(&p->calls, 110, SUM_CALL_MASK), !snapshot);
	CHECK_EQ(of_files(&p->calls), counts);
	CHECK_EQ(counted(&p->waits, SPLIT_other, SUM_WAIT_PART_MASK) +
			 counted(&p->waits, SPLIT_ipc, SUM_WAIT_PART_MASK) +
			 counted(&p->waits, SPLIT_idle, SUM_WAIT_PART_MASK),
		 1);
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		open += k.kind == KSPAN_SYSCALL && k.open && k.nr == 232;
	}
	CHECK_EQ(open, 1);
	partial_free(p);
}

/* A trace shows it; but of calls that were not asked for nobody knows how many there were. */
TEST(a_call_that_goes_on_counts_unless_it_may_have_been_left_out)
{
	static const struct context none;

	for (int snapshot = 0; snapshot < 2; snapshot++) {
		check_asleep(0, snapshot, &none, 1);
		check_asleep(FILTER_SYSCALLS, snapshot, &none, 0);
		check_asleep(FILTER_SYSCALLS, snapshot, &some_span, 0);
		check_asleep(FILTER_SYSCALLS | BEFORE_A_GAP, snapshot, &none, 1);
		check_asleep(FILTER_SPANS, snapshot, &none, 0);
		check_asleep(FILTER_SPANS, snapshot, &some_span, 1);
	}
}

/* On a CPU from 1000 on; what it did in [2000, 3000) was lost. Returns its time once `end` came. */
static struct split with_a_loss_of(u8 kind, const struct record_head *end)
{
	struct record_switch enters = {.head = {.kind = RECORD_switch, .time_ns = 1000},
				       .next_tid = 7};
	struct record_lost lost = {.head = {.kind = RECORD_lost, .time_ns = 3000},
				   .why = LOST_buffer,
				   .lost_kind = kind,
				   .count = 1,
				   .begin_ns = 2000};
	struct partial *p = partial_new(NULL);
	struct split split;

	partial_cover(p, 1000, 5000);
	CHECK_EQ(partial_apply(p, &enters.head), 0);
	CHECK_EQ(partial_apply(p, &lost.head), 0);
	CHECK_EQ(partial_apply(p, end), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.count, 1);
	split = p->lives.data[0]->total;
	CHECK_EQ(split_total(&split), 4000);
	partial_free(p);
	return split;
}

static struct split with_a_loss(const struct record_head *end)
{
	return with_a_loss_of(0, end);
}

/* A thread may have gone, or out of the scope; what else was lost has no time. */
TEST(some_kinds_of_losses_leave_time_in_doubt)
{
	static const u8 in_doubt[] = {RECORD_fork,    RECORD_exit,   RECORD_switch,
				      RECORD_syscall, RECORD_thread, RECORD_cgroup_attach};
	static const u8 sure[] = {RECORD_fd, RECORD_path, RECORD_name, RECORD_block};
	const struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .tid = 7, .pid = 7, .time_ns = 5000},
		.state = LEAVE_preempted,
		.mode = MODE_user};

	for (size_t i = 0; i < sizeof(in_doubt); i++)
		CHECK_EQ(with_a_loss_of(in_doubt[i], &leaves.head).ns[SPLIT_unknown], 2000);
	for (size_t i = 0; i < sizeof(sure); i++)
		CHECK_EQ(with_a_loss_of(sure[i], &leaves.head).ns[SPLIT_unknown], 0);
}

TEST(before_a_loss_user_code_is_not_told_from_a_call_of_which_the_end_was_lost)
{
	const struct record_head head = {.tid = 7, .pid = 7, .time_ns = 5000};
	struct record_switch leaves = {.head = head, .state = LEAVE_preempted, .mode = MODE_user};
	struct record_syscall call = {.head = head, .nr = 39, .duration_ns = 500};
	struct split split;

	leaves.head.kind = RECORD_switch;
	split = with_a_loss(&leaves.head);
	CHECK_EQ(split.ns[SPLIT_unknown], 2000);
	CHECK_EQ(split.ns[SPLIT_user], 2000);
	call.head.kind = RECORD_syscall;
	split = with_a_loss(&call.head);
	CHECK_EQ(split.ns[SPLIT_unknown], 2000);
	CHECK_EQ(split.ns[SPLIT_user], 1500);
	CHECK_EQ(split.ns[SPLIT_kernel], 500);
	call.duration_ns = 3500; /* it was in this one: what was before is not in doubt */
	split = with_a_loss(&call.head);
	CHECK_EQ(split.ns[SPLIT_unknown], 1000);
	CHECK_EQ(split.ns[SPLIT_user], 500);
	CHECK_EQ(split.ns[SPLIT_kernel], 2500);
}

/* It was woken, and when it got a CPU was lost: until then it may have slept. */
TEST(who_is_first_seen_before_a_loss_may_have_slept)
{
	struct record_head head = {.kind = RECORD_waking, .tid = 7, .pid = 7, .time_ns = 1500};
	struct record_waking waking = {.head = head};
	struct record_lost lost = {.head = {.kind = RECORD_lost, .time_ns = 3000},
				   .why = LOST_buffer,
				   .count = 1,
				   .begin_ns = 2000};
	struct record_switch leaves = {
		.head = head, .state = LEAVE_sleep, .mode = MODE_syscall, .since_ns = 4500};
	struct partial *p = partial_new(NULL);

	leaves.head.kind = RECORD_switch;
	leaves.head.time_ns = 5000;
	partial_cover(p, 1000, 5000);
	CHECK_EQ(partial_apply(p, &waking.head), 0);
	CHECK_EQ(partial_apply(p, &lost.head), 0);
	CHECK_EQ(partial_apply(p, &leaves.head), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_unknown], 2000);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_kernel], 2000);
	partial_free(p);
}

/* What a reader tells of a CPU of which records are damaged: they are missing from `from` on. */
static void hole_begins(struct partial *p, u16 cpu, u64 from_ns)
{
	struct record_lost lost = {.head = {.kind = RECORD_lost, .cpu = cpu, .time_ns = from_ns},
				   .why = LOST_damaged,
				   .count = LOST_BEGINS,
				   .begin_ns = from_ns};

	CHECK_EQ(partial_apply(p, &lost.head), 0);
}

static void hole_ends(struct partial *p, u16 cpu, u64 from_ns, u64 to_ns)
{
	struct record_lost lost = {.head = {.kind = RECORD_lost, .cpu = cpu, .time_ns = to_ns},
				   .why = LOST_damaged,
				   .begin_ns = from_ns};

	CHECK_EQ(partial_apply(p, &lost.head), 0);
}

static void span_bound(struct partial *p, u64 time_ns, bool begins)
{
	static const struct context ctx = {{1}, {0, 0, 0, 0, 0, 0, 0, 1}};
	struct record_head head = {.tid = 7, .pid = 7, .time_ns = time_ns};
	struct record_span_begin begin = {.head = head, .ctx = ctx, .flags = 1};
	struct record_span_end end = {.head = head, .ctx = ctx, .flags = 1};

	begin.head.kind = RECORD_span_begin;
	end.head.kind = RECORD_span_end;
	CHECK_EQ(partial_apply(p, begins ? &begin.head : &end.head), 0);
}

/* The bounds of the span come from another stream: between them the thread may have slept. */
TEST(a_span_in_a_hole_is_unknown)
{
	struct partial *p = partial_new(NULL);

	partial_cover(p, 1000, 10000);
	span_bound(p, 2000, true);
	span_bound(p, 3000, false);
	hole_begins(p, 0, 4000);
	span_bound(p, 5000, true);
	span_bound(p, 7000, false);
	hole_ends(p, 0, 4000, 8000);
	span_bound(p, 9000, false);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	CHECK_EQ(p->spans.data[0]->active.list.data[0].split.ns[SPLIT_unknown], 2000);
	CHECK_EQ(p->spans.data[0]->active.list.data[0].split.ns[SPLIT_user], 1000);
	/* before 1000 of user code and 5000 in doubt, and behind the last record nothing is known
	 */
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_user], 3000);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_unknown], 6000);
	partial_free(p);
}

/* Who runs on a CPU of which all is there cannot have left it unseen. */
TEST(a_hole_of_one_cpu_leaves_who_is_on_another)
{
	struct record_switch enters = {.head = {.kind = RECORD_switch, .cpu = 1, .time_ns = 1000},
				       .next_tid = 7};
	struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .cpu = 1, .tid = 7, .pid = 7, .time_ns = 6000},
		.state = LEAVE_preempted,
		.mode = MODE_user};

	for (u16 cpu = 0; cpu < 2; cpu++) {
		struct partial *p = partial_new(NULL);

		partial_cover(p, 1000, 6000);
		CHECK_EQ(partial_apply(p, &enters.head), 0);
		hole_begins(p, cpu, 2000);
		hole_ends(p, cpu, 2000, 3000);
		CHECK_EQ(partial_apply(p, &leaves.head), 0);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_unknown], cpu ? 2000 : 0);
		partial_free(p);
	}
}

/* A list of files that are missing may be long: what is known is less then, and never wrong. */
TEST(many_holes_count_as_one_of_all_cpus)
{
	struct partial *p = partial_new(NULL);

	partial_cover(p, 1000, 10000);
	for (u16 cpu = 0; cpu < 2000; cpu++)
		hole_begins(p, cpu, 4000);
	CHECK(p->holes.count <= 1024); /* each record asks for them */
	span_bound(p, 5000, true);
	span_bound(p, 7000, false);
	for (u16 cpu = 0; cpu < 2000; cpu++)
		hole_ends(p, cpu, 4000, 10000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.data[0]->active.list.data[0].split.ns[SPLIT_unknown], 2000);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_user], 0);
	partial_free(p);
}

/* A span from 2000 to 9000, of a process that is followed from 3000 on; before, at a wrong place.
 */
static struct split older_span(const struct record_head *within)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = 1001},
				       .flags = FILTER_SPANS};
	struct record_filter follows = {.head = {.kind = RECORD_filter, .pid = 7, .time_ns = 3000},
					.flags = FILTER_SPANS | FILTER_FOLLOWS};
	struct record_filter assumed = follows;
	struct partial *p = partial_new(NULL);
	struct split split;

	partial_cover(p, 1000, 10000);
	CHECK_EQ(partial_apply(p, &filter.head), 0);
	assumed.head.time_ns = 1500;
	CHECK_EQ(partial_apply(p, &assumed.head), 0);
	span_bound(p, 2000, true);
	CHECK_EQ(partial_apply(p, &follows.head), 0);
	if (within)
		CHECK_EQ(partial_apply(p, within), 0);
	span_bound(p, 9000, false);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	split = p->spans.data[0]->active.list.data[0].split;
	CHECK_EQ(split_total(&split), 7000);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_user], split.ns[SPLIT_user]);
	partial_free(p);
	return split;
}

/* It may have gone to sleep before: then nothing is recorded until it runs again. */
TEST(a_span_that_is_older_than_its_place_was_known_may_sleep)
{
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = 5000},
		.nr = 39,
		.duration_ns = 500,
		.ctx = {{1}, {0, 0, 0, 0, 0, 0, 0, 1}}};
	struct split split = older_span(NULL);

	CHECK_EQ(split.ns[SPLIT_user], 0);
	CHECK_EQ(split.ns[SPLIT_unknown], 7000);
	split = older_span(&call.head); /* it was seen to run: from there on all is known */
	CHECK_EQ(split.ns[SPLIT_unknown], 2500);
	CHECK_EQ(split.ns[SPLIT_kernel], 500);
	CHECK_EQ(split.ns[SPLIT_user], 4000);
}

/* User code of a span from 2000 to 3000: its process is followed from 1500 on, and told so later.
 */
static s64 user_if_told_later(u64 gap_ns, u32 flags)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = 1001},
				       .flags = FILTER_SPANS};
	struct record_filter follows = {.head = {.kind = RECORD_filter, .pid = 7, .time_ns = 1500},
					.flags = FILTER_SPANS | FILTER_FOLLOWS};
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 6000}, .begin_ns = gap_ns};
	struct partial *p = partial_new(NULL);
	s64 user;

	partial_cover(p, 1000, 10000);
	CHECK_EQ(partial_apply(p, &filter.head), 0);
	CHECK_EQ(partial_apply(p, &follows.head), 0);
	span_bound(p, 2000, true);
	span_bound(p, 3000, false);
	if (gap_ns)
		CHECK_EQ(partial_apply(p, &gap.head), 0);
	follows.head.time_ns = 6500;
	follows.flags |= flags;
	CHECK_EQ(partial_apply(p, &follows.head), 0);
	CHECK_EQ(partial_finish(p), 0);
	user = p->spans.data[0]->active.list.data[0].split.ns[SPLIT_user];
	partial_free(p);
	return user;
}

/* By the next recorder, or again for a chunk of a flight recorder. */
TEST(what_is_told_of_a_later_time_is_none_of_a_span_before)
{
	CHECK_EQ(user_if_told_later(0, 0), 0); /* the place before was a wrong one */
	CHECK_EQ(user_if_told_later(0, FILTER_AGAIN), 1000);
	CHECK_EQ(user_if_told_later(5000, 0), 1000);
	CHECK_EQ(user_if_told_later(2900, 0), 1000); /* it was seen in what was recovered there */
}

/* A thread leaves its CPU at 2000 and 4000 under a span, and at 6000 under none; 500 each. */
static struct partial *seen_at_switches(u32 filters)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = 1001},
				       .flags = filters};
	struct record_switch sw = {.head = {.kind = RECORD_switch, .pid = 7},
				   .state = LEAVE_sleep,
				   .mode = MODE_syscall,
				   .nr = 35};
	struct partial *p = partial_new(NULL);

	if (filters & FILTER_CALLS)
		sw.state |= LEAVE_BEFORE_UNKNOWN | LEAVE_NEXT_UNCALLED;

	partial_cover(p, 1000, 10000);
	if (filters)
		CHECK_EQ(partial_apply(p, &filter.head), 0);
	for (u64 at = 2000; at <= 6000; at += 2000) {
		sw.head.tid = 7;
		sw.head.time_ns = at;
		sw.next_tid = 0;
		sw.ctx = (struct context){{at < 6000}, {0, 0, 0, 0, 0, 0, 0, at < 6000}};
		CHECK_EQ(partial_apply(p, &sw.head), 0);
		sw.head.tid = 0;
		sw.head.time_ns = at + 500;
		sw.next_tid = 7;
		CHECK_EQ(partial_apply(p, &sw.head), 0);
	}
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->spans.count, 1);
	CHECK_EQ(p->lives.count, 1);
	return p;
}

TEST(between_two_switches_a_thread_may_have_left_its_span)
{
	struct partial *p = seen_at_switches(0);
	struct split split = p->spans.data[0]->seen.list.data[0].split;

	CHECK_EQ(split.ns[SPLIT_timer], 1000);
	CHECK_EQ(split.ns[SPLIT_user], 1500);
	partial_free(p);
	p = seen_at_switches(FILTER_CALLS);
	split = p->spans.data[0]->seen.list.data[0].split;
	CHECK_EQ(split.ns[SPLIT_timer], 1000);
	CHECK_EQ(split.ns[SPLIT_unknown], 1500);
	CHECK_EQ(split_total(&split), 2500);
	CHECK_EQ(p->lives.data[0]->total.ns[SPLIT_cpu], 4000);
	partial_free(p);
}

TEST_MAIN()
