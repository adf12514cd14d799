/* SPDX-License-Identifier: Apache-2.0 */
/* A stay off the CPU: how much of it is told after losses, and which is told as a wait; the end. */
#include "model/life.h"

#include <string.h>

#include "tests/unit/check.h"

#define TID 7
#define CPU 1

/* The waits of one thread that ran from 1000 to 2000. */
struct told {
	struct life life;
	struct life_wait last;
	int waits;
	struct life_visit visit;
};

static void on_wait(void *arg, const struct life *l, const struct life_wait *wait)
{
	struct told *t = arg;

	t->last = *wait;
	t->waits++;
}

static void on_visit(void *arg, const struct life *l, const struct life_visit *visit)
{
	((struct told *)arg)->visit = *visit;
}

static void on_share(void *arg, const struct life *l, const struct life_share *share)
{
}

static void feed(struct told *t, enum life_event event, const void *record)
{
	const struct life_sink sink = {t, on_wait, on_visit, on_share, on_share, on_share};

	CHECK_EQ(life_feed(&t->life, event, record, &sink), 0);
}

static void enters(struct told *t, u64 time_ns)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .cpu = CPU, .time_ns = time_ns},
				  .next_tid = TID};

	feed(t, LIFE_ENTERS, &r);
}

static void leaves(struct told *t, u64 time_ns, u8 state)
{
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = time_ns},
		.mode = MODE_user,
		.state = state};

	feed(t, LIFE_LEAVES, &r);
}

static void waking(struct told *t, u64 time_ns)
{
	struct record_waking r = {.head = {.kind = RECORD_waking, .tid = TID, .time_ns = time_ns}};

	feed(t, LIFE_WAKING, &r);
}

static void lost(struct told *t, u64 begin_ns, u64 end_ns)
{
	struct record_lost r = {.head = {.kind = RECORD_lost, .cpu = CPU, .time_ns = end_ns},
				.begin_ns = begin_ns};

	feed(t, LIFE_LOST, &r);
}

/* Made at 500, it ran until 2000. */
static struct told ran(u8 state)
{
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	leaves(&t, 2000, state);
	return t;
}

/*
 * What is told of the stay from 2000 to 6000: to the thread, and of the wait itself. Behind it ends
 * a call that began then; 0: the thread is in user code.
 */
static void check_stay_in(struct told *t, u64 call_ns, s64 slept, s64 runnable, s64 unknown)
{
	struct split before = t->life.total;
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .cpu = CPU, .tid = TID, .time_ns = 6000},
		.duration_ns = call_ns ? 6000 - call_ns : 0};

	enters(t, 6000);
	feed(t, call_ns ? LIFE_SYSCALL : LIFE_USER, &call);
	CHECK_EQ(t->last.begin_ns, 2000);
	CHECK_EQ(t->last.end_ns, 6000);
	CHECK_EQ(t->last.split.ns[SPLIT_runnable], runnable);
	CHECK_EQ(t->last.split.ns[SPLIT_unknown], unknown);
	CHECK_EQ(split_total(&t->last.split), slept + runnable + unknown);
	CHECK_EQ(t->life.total.ns[SPLIT_runnable] - before.ns[SPLIT_runnable], runnable);
	CHECK_EQ(t->life.total.ns[SPLIT_unknown] - before.ns[SPLIT_unknown], unknown);
	CHECK_EQ(split_total(&t->life.total) - split_total(&before), 4000);
	life_free(&t->life);
}

static void check_stay(struct told *t, s64 slept, s64 runnable, s64 unknown)
{
	check_stay_in(t, 0, slept, runnable, unknown);
}

TEST(one_that_was_preempted_may_have_run_since_the_first_loss)
{
	struct told t = ran(LEAVE_preempted);

	lost(&t, 3000, 3500);
	check_stay(&t, 0, 1000, 3000);
}

TEST(one_that_was_woken_may_have_run_since_the_loss_after_it)
{
	struct told t = ran(LEAVE_sleep);

	waking(&t, 2500);
	lost(&t, 3000, 3500);
	check_stay(&t, 500, 500, 3000);
}

TEST(one_that_was_not_seen_woken_may_have_run_while_records_were_lost)
{
	struct told t = ran(LEAVE_sleep);

	lost(&t, 3000, 3500);
	check_stay(&t, 3500, 0, 500);
}

/* In between it may have been woken, have run, and have slept on something else. */
TEST(one_that_is_woken_after_the_loss_may_have_slept_elsewhere)
{
	struct told t = ran(LEAVE_sleep);

	lost(&t, 3000, 3500);
	waking(&t, 4000);
	check_stay(&t, 1000, 2000, 1000);
}

TEST(it_slept_if_the_call_goes_on_behind)
{
	struct told t = ran(LEAVE_sleep);

	lost(&t, 3000, 3500);
	waking(&t, 4000);
	check_stay_in(&t, 1500, 2000, 2000, 0);
}

TEST(another_call_is_no_witness)
{
	struct told t = ran(LEAVE_sleep);

	lost(&t, 3000, 3500);
	waking(&t, 4000);
	check_stay_in(&t, 3600, 1000, 2000, 1000);
}

TEST(what_was_lost_before_it_slept_says_nothing_of_its_sleep)
{
	struct told t = ran(LEAVE_sleep);

	lost(&t, 1000, 2000);
	waking(&t, 4000);
	check_stay(&t, 2000, 2000, 0);
}

TEST(a_new_thread_waits_until_it_runs_first)
{
	struct told t = ran(LEAVE_preempted);

	CHECK_EQ(t.waits, 1);
	CHECK_EQ(t.life.total.ns[SPLIT_runnable], 500);
	check_stay(&t, 0, 4000, 0);
	CHECK_EQ(t.waits, 2);
}

/* Its call was open when recording began, before anything was told of it. */
TEST(one_that_is_woken_before_it_was_seen_waits_from_then_on)
{
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .cpu = CPU, .tid = TID, .time_ns = 3000},
		.duration_ns = 2000};
	struct told t = {0}, left = {0};
	const struct life_sink sink = {&left, on_wait, on_visit, on_share, on_share, on_share};

	life_init(&t.life, TID);
	waking(&t, 1500);
	enters(&t, 2500);
	feed(&t, LIFE_SYSCALL, &call);
	CHECK_EQ(t.waits, 0);
	life_init(&left.life, TID);
	left.life.settled = true;
	left.life.origin_ns = left.life.state.last_ns = 1000;
	CHECK_EQ(life_join(&left.life, &t.life, &sink), 0);
	CHECK_EQ(left.waits, 1);
	CHECK_EQ(left.last.begin_ns, 1500);
	CHECK_EQ(left.last.end_ns, 2500);
	CHECK_EQ(left.last.split.ns[SPLIT_runnable], 1000);
	CHECK_EQ(left.visit.split.ns[SPLIT_runnable], 1000);
	CHECK_EQ(left.visit.split.ns[SPLIT_unknown], 500);
	CHECK_EQ(split_total(&left.visit.split), 2000);
	life_free(&left.life);
}

/* ---- looked at as it runs ---- */

/* In a call since `begin_ns`, 0: in user code. */
static void looked_at(struct told *t, u64 time_ns, u64 begin_ns)
{
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = time_ns},
		.next_tid = TID,
		.mode = begin_ns ? MODE_syscall : MODE_user,
		.since_ns = begin_ns ? time_ns - begin_ns : 0,
		.state = LEAVE_running};

	feed(t, LIFE_RUNS, &r);
}

TEST(one_that_is_looked_at_goes_on)
{
	struct told t = ran(LEAVE_preempted);
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .cpu = CPU, .tid = TID, .time_ns = 9000},
		.duration_ns = 2000};

	enters(&t, 3000);
	looked_at(&t, 5000, 0);
	CHECK_EQ(t.life.total.ns[SPLIT_user], 1000 + 2000);
	looked_at(&t, 8000, 7000);
	CHECK_EQ(t.life.total.ns[SPLIT_user], 1000 + 4000);
	CHECK_EQ(t.life.total.ns[SPLIT_kernel], 1000);
	feed(&t, LIFE_SYSCALL, &call);
	CHECK_EQ(t.life.total.ns[SPLIT_kernel], 2000);
	CHECK_EQ(t.visit.split.ns[SPLIT_kernel], 2000);
	CHECK_EQ(t.waits, 2);
}

/* It is woken in the call, before it sleeps there; a waking from before is for nothing. */
TEST(a_waking_before_the_look_counts_in_the_same_call_only)
{
	for (u64 begin = 4000; begin <= 4600; begin += 600) {
		struct told t = ran(LEAVE_preempted);
		struct record_switch r = {
			.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = 6000},
			.mode = MODE_syscall,
			.since_ns = 6000 - begin,
			.state = LEAVE_sleep};

		enters(&t, 3000);
		waking(&t, 4500);
		looked_at(&t, 5000, begin);
		feed(&t, LIFE_LEAVES, &r);
		enters(&t, 7000);
		CHECK_EQ(t.life.total.ns[SPLIT_runnable], 500 + 1000 + (begin == 4000 ? 1000 : 0));
	}
}

/* Cut before a waking that the look makes void: the right half forgets it, too. */
TEST(a_look_means_the_same_to_a_half)
{
	struct told whole = {0}, left = {0}, right = {0};
	const struct life_sink sink = {&left, on_wait, on_visit, on_share, on_share, on_share};
	struct told *halves[] = {&whole, &right};

	life_init_born(&whole.life, TID, TID, 500, 0);
	life_init_born(&left.life, TID, TID, 500, 0);
	life_init(&right.life, TID);
	for (int i = 0; i < 2; i++) {
		enters(halves[i], 1000);
		waking(halves[i], 1100);
		lost(halves[i], 1150, 1160);
		looked_at(halves[i], 1300, 1200);
		leaves(halves[i], 1500, LEAVE_stopped);
		waking(halves[i], 1800);
		enters(halves[i], 1900);
	}
	CHECK_EQ(life_join(&left.life, &right.life, &sink), 0);
	CHECK_EQ(memcmp(&left.life.total, &whole.life.total, sizeof(whole.life.total)), 0);
	CHECK_EQ(whole.life.total.ns[SPLIT_other], 300);
	life_free(&left.life);
	life_free(&whole.life);
}

TEST(what_was_lost_before_the_look_is_in_doubt)
{
	struct told t = ran(LEAVE_preempted);

	enters(&t, 3000);
	lost(&t, 3500, 4000);
	looked_at(&t, 5000, 0);
	CHECK_EQ(t.life.total.ns[SPLIT_unknown], 1000);
	CHECK_EQ(t.life.total.ns[SPLIT_user], 1000 + 1000);
}

/* ---- the end ---- */

/* Since 3000 it is ended by a signal. */
static void leaves_ending(struct told *t, u64 time_ns, u8 state)
{
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = time_ns},
		.mode = MODE_exit,
		.since_ns = time_ns - 3000,
		.state = state};

	feed(t, LIFE_LEAVES, &r);
}

static void woken_by_disk(struct told *t, u64 time_ns)
{
	struct record_waking r = {.head = {.kind = RECORD_waking, .tid = TID, .time_ns = time_ns},
				  .context = WAKE_softirq,
				  .block = WAKE_BLOCK(5, 0)};

	feed(t, LIFE_WAKING, &r);
}

/* It ran from 1000 on, was killed at 3000, and was dead at 9000. */
static void dies(struct told *t, bool known)
{
	struct record_exit exit = {.head = {.kind = RECORD_exit, .tid = TID, .time_ns = 6600},
				   .code = 9};

	if (known)
		life_init_born(&t->life, TID, TID, 500, 0);
	else
		life_init(&t->life, TID);
	enters(t, 1000);
	leaves_ending(t, 4000, LEAVE_preempted);
	enters(t, 4500);
	leaves_ending(t, 5000, LEAVE_disk_sleep);
	woken_by_disk(t, 6000);
	enters(t, 6500);
	life_exits(&t->life, &exit);
	leaves_ending(t, 7000, LEAVE_sleep);
	waking(t, 7800);
	enters(t, 8000);
	leaves_ending(t, 9000, LEAVE_dead);
}

static void check_death(const struct life *l)
{
	CHECK_EQ(l->total.ns[SPLIT_user], 2000);
	CHECK_EQ(l->total.ns[SPLIT_kernel], 1000 + 500 + 500 + 1000);
	CHECK_EQ(l->total.ns[SPLIT_disk], 1000);
	CHECK_EQ(l->total.ns[SPLIT_other], 800);
	CHECK_EQ(l->total.ns[SPLIT_unknown], 0);
	CHECK_EQ(l->exit_code, 9);
}

TEST(what_the_kernel_does_for_one_that_is_killed_is_no_user_code)
{
	struct told t = {0};

	dies(&t, true);
	CHECK_EQ(t.last.visit_ns, 0); /* no call and no fault that a wait lies in */
	CHECK_EQ(t.last.part, SPLIT_other);
	check_death(&t.life);
	CHECK_EQ(split_total(&t.life.total), 8500);
	life_free(&t.life);
}

/* Its begin was not seen: nothing settles the life until it is over. */
TEST(a_death_of_which_the_begin_was_not_seen_is_told_alike)
{
	struct told t = {0};
	const struct life_sink sink = {&t, on_wait, on_visit, on_share, on_share, on_share};

	dies(&t, false);
	CHECK_EQ(life_finish(&t.life, 1000, 20000, &sink), 0);
	check_death(&t.life);
	CHECK_EQ(split_total(&t.life.total), 8000);
	life_free(&t.life);
}

/* Whatever its begin is made of, what its caller said of it stays. */
TEST(a_life_keeps_its_place_when_its_begin_is_made)
{
	for (int finish = 0; finish < 2; finish++) {
		struct told t = {0};
		const struct life_sink sink = {&t, on_wait, on_visit, on_share, on_share, on_share};

		life_init(&t.life, TID);
		t.life.severed = true;
		t.life.clip_from_ns = 3000;
		t.life.clip_to_ns = 7000;
		t.life.losses_before = 2;
		t.life.losses_seen = 3;
		enters(&t, 2000);
		CHECK_EQ(finish ? life_finish(&t.life, 1000, 9000, &sink)
				: life_anchor(&t.life, 1000, &sink),
			 0);
		CHECK(t.life.settled && t.life.severed);
		CHECK_EQ(t.life.origin_ns, 1000);
		CHECK_EQ(t.life.first_ns, 2000);
		CHECK_EQ(t.life.clip_from_ns, 3000);
		CHECK_EQ(t.life.clip_to_ns, 7000);
		CHECK_EQ(t.life.losses_before, 2);
		CHECK_EQ(t.life.losses_seen, 3);
		CHECK_EQ(split_total(&t.life.total), finish ? 4000 : 0);
		life_free(&t.life);
	}
}

/* ---- a fault in a call ---- */

/* In the call that began at 2000 (soft: not known when), and with `mode` in a fault in that. */
static void leaves_call(struct told *t, u64 time_ns, u8 mode, bool soft)
{
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = time_ns},
		.mode = mode,
		.since_ns = soft ? 0 : time_ns - 2000,
		.state = LEAVE_disk_sleep};

	feed(t, LIFE_LEAVES, &r);
}

#define IN_FAULT (MODE_fault | MODE_IN_SYSCALL)

static void sleeps(struct told *t, u64 begin_ns, u64 end_ns, u8 mode)
{
	leaves_call(t, begin_ns, mode, false);
	woken_by_disk(t, end_ns - 100);
	enters(t, end_ns);
}

static void faulted(struct told *t, u64 begin_ns, u64 end_ns)
{
	struct record_fault r = {
		.head = {.kind = RECORD_fault, .cpu = CPU, .tid = TID, .time_ns = end_ns},
		.flags = FAULT_MAJOR,
		.duration_ns = end_ns - begin_ns};

	feed(t, LIFE_FAULT, &r);
}

static void called(struct told *t, u64 end_ns)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .cpu = CPU, .tid = TID, .time_ns = end_ns},
		.duration_ns = end_ns - 2000};

	feed(t, LIFE_SYSCALL, &r);
}

static void check_fault(const struct told *t, s64 slept, s64 runnable, s64 kernel, s64 unknown)
{
	const struct split *split = &t->visit.split;

	CHECK(t->visit.fault);
	CHECK_EQ(split->ns[SPLIT_fault], slept);
	CHECK_EQ(split->ns[SPLIT_runnable], runnable);
	CHECK_EQ(split->ns[SPLIT_kernel], kernel);
	CHECK_EQ(split->ns[SPLIT_unknown], unknown);
	CHECK_EQ(split_total(split), slept + runnable + kernel + unknown);
}

TEST(a_fault_that_was_not_seen_to_end_is_known_up_to_its_signal)
{
	const u32 flags[] = {FAULT_SOFT_END, FAULT_SOFT_END | FAULT_SIGNALLED};

	for (int i = 0; i < 2; i++) {
		struct record_fault r = {
			.head = {.kind = RECORD_fault, .cpu = CPU, .tid = TID, .time_ns = 5000},
			.flags = FAULT_USER | flags[i],
			.duration_ns = 3000};
		struct told t = {0};

		life_init_born(&t.life, TID, TID, 500, 0);
		enters(&t, 1000);
		feed(&t, LIFE_FAULT, &r);
		check_fault(&t, 0, 0, i ? 3000 : 0, i ? 0 : 3000);
		life_free(&t.life);
	}
}

TEST(a_fault_in_a_call_has_what_it_slept)
{
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	sleeps(&t, 3000, 3500, MODE_syscall);
	faulted(&t, 3600, 3700);
	check_fault(&t, 0, 0, 100, 0);
	sleeps(&t, 4000, 5000, IN_FAULT);
	sleeps(&t, 5200, 5500, IN_FAULT);
	faulted(&t, 3800, 5800);
	check_fault(&t, 1100, 200, 700, 0);
	faulted(&t, 5900, 6000); /* what was told is no part of the next */
	check_fault(&t, 0, 0, 100, 0);
	sleeps(&t, 6100, 7000, MODE_syscall);
	called(&t, 8000);
	CHECK(t.visit.syscall);
	CHECK_EQ(t.visit.split.ns[SPLIT_fault], 1100);
	CHECK_EQ(t.visit.split.ns[SPLIT_unknown], 0);
	CHECK_EQ(split_total(&t.visit.split), 6000);
	life_free(&t.life);
}

TEST(of_a_fault_in_a_call_what_was_missed_is_unknown)
{
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	sleeps(&t, 4000, 5000, IN_FAULT); /* its record was lost */
	sleeps(&t, 6000, 7000, IN_FAULT);
	faulted(&t, 5500, 7500);
	check_fault(&t, 0, 0, 0, 2000);
	sleeps(&t, 8000, 9000, IN_FAULT);
	lost(&t, 9100, 9200);
	faulted(&t, 7800, 9400);
	check_fault(&t, 900, 100, 500, 100);
	sleeps(&t, 9500, 9800, MODE_syscall);
	lost(&t, 10100, 10200); /* it may have left its CPU */
	sleeps(&t, 11000, 12000, IN_FAULT);
	faulted(&t, 10000, 12500);
	check_fault(&t, 900, 100, 0, 1500);
	life_free(&t.life);
}

TEST(a_fault_in_a_call_of_which_the_begin_is_not_known)
{
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	for (u64 time_ns = 3000; time_ns < 6000; time_ns += 1000) {
		leaves_call(&t, time_ns, IN_FAULT, true);
		woken_by_disk(&t, time_ns + 400);
		enters(&t, time_ns + 500);
	}
	faulted(&t, 2900, 5900);
	check_fault(&t, 1200, 300, 1500, 0);
	life_free(&t.life);
}

/* Of two recordings that follow one another, wherever they were cut. */
TEST(a_fault_in_a_call_is_told_alike_by_two_halves)
{
	for (int cut = 0; cut < 7; cut++) {
		struct told left = {0}, right = {0};
		const struct life_sink sink = {&left,	 on_wait,  on_visit,
					       on_share, on_share, on_share};
		int step = 0;

		life_init_born(&left.life, TID, TID, 500, 0);
		life_init(&right.life, TID);
#define HALF (step++ < cut ? &left : &right)
		enters(HALF, 1000);
		leaves_call(HALF, 4000, IN_FAULT, false);
		woken_by_disk(HALF, 4900);
		enters(HALF, 5000);
		leaves_call(HALF, 5200, IN_FAULT, false);
		enters(HALF, 5500);
		faulted(HALF, 3800, 5800);
#undef HALF
		CHECK_EQ(life_join(&left.life, &right.life, &sink), 0);
		check_fault(cut ? &left : &right, 1200, 100, 700, 0);
		life_free(&left.life);
	}
}

/* As the first exec of a command: the call began when recording did, the life a little later. */
TEST(a_call_from_before_the_life_has_its_waits)
{
	struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = 1500},
		.mode = MODE_syscall,
		.since_ns = 1500 - 400,
		.state = LEAVE_preempted};
	struct record_syscall call = {
		.head = {.kind = RECORD_syscall, .cpu = CPU, .tid = TID, .time_ns = 3000},
		.duration_ns = 3000 - 400};
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	feed(&t, LIFE_LEAVES, &leaves);
	enters(&t, 2500);
	feed(&t, LIFE_SYSCALL, &call);
	CHECK_EQ(t.last.visit_ns, 500);
	CHECK_EQ(t.visit.begin_ns, 500);
	CHECK_EQ(t.visit.split.ns[SPLIT_runnable], 1000);
	CHECK_EQ(t.visit.split.ns[SPLIT_kernel], 1000);
	CHECK_EQ(t.visit.split.ns[SPLIT_unknown], 500);
	life_free(&t.life);
}

/*
 * The sleep from 2000000 to 6000000 in a call of which nobody knows since when, with a waking at
 * woken_ns: how long the thread was runnable.
 */
static s64 runnable_without_calls(u64 woken_ns, u8 context)
{
	struct told t = {0};
	struct record_switch r = {
		.head = {.kind = RECORD_switch, .cpu = CPU, .tid = TID, .time_ns = 2000000},
		.mode = MODE_syscall,
		.nr = 202,
		.state = LEAVE_sleep};
	struct record_waking w = {.head = {.kind = RECORD_waking, .tid = TID, .time_ns = woken_ns},
				  .context = context};

	life_init_born(&t.life, TID, TID, 500, 0);
	enters(&t, 1000);
	feed(&t, LIFE_WAKING, &w);
	feed(&t, LIFE_LEAVES, &r);
	enters(&t, 6000000);
	r.head.time_ns = 6000500;
	feed(&t, LIFE_LEAVES, &r);
	life_free(&t.life);
	return t.life.total.ns[SPLIT_runnable] - 500;
}

/* One that has left its run queue sleeps; one that is queued still may not. */
TEST(a_waking_before_the_sleep_counts_by_its_age_without_calls)
{
	CHECK_EQ(runnable_without_calls(1500000, WAKE_task), 4000000);
	CHECK_EQ(runnable_without_calls(900000, WAKE_task), 0);
	CHECK_EQ(runnable_without_calls(1998000, WAKE_task | WAKE_QUEUED), 4000000);
	CHECK_EQ(runnable_without_calls(1990000, WAKE_task | WAKE_QUEUED), 0);
}

/* The waking tells the word of a futex; in its absence the call that the thread slept in. */
TEST(the_word_on_which_a_thread_slept)
{
	struct life_wait w = {
		.nr = 202,
		.mode = MODE_syscall,
		.state = LEAVE_sleep,
		.arg0 = 0x7000,
		.wake = {.has = true, .file = {.key = 0x8000, .flags = FILE_NONE_WORD}}};

	CHECK_EQ(life_wait_word(&w), 0x8000);
	w.mode = MODE_user; /* where futexes are not recorded (--syscalls) */
	CHECK_EQ(life_wait_word(&w), 0x8000);
	w.wake.file = (struct file_ref){.key = 5, .kind = FILE_KIND_pipe, .flags = FILE_NONE_WORD};
	CHECK_EQ(life_wait_word(&w), 0);
	w.mode = MODE_syscall;
	CHECK_EQ(life_wait_word(&w), 0x7000);
	w.wake = (struct life_wake){0};
	CHECK_EQ(life_wait_word(&w), 0x7000);
	w.mode = MODE_syscall | MODE_COMPAT;
	w.nr = 240;
	CHECK_EQ(life_wait_word(&w), 0x7000);
	w.nr = 1;
	CHECK_EQ(life_wait_word(&w), 0);
	w.mode = MODE_fault;
	CHECK_EQ(life_wait_word(&w), 0);
}

TEST_MAIN()
