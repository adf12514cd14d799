/* SPDX-License-Identifier: Apache-2.0 */
/* The first stay off the CPU of a thread of which nothing told how it began. */
#include "model/life.h"

#include "record/syscalls.h"
#include "tests/unit/check.h"

#define TID 7

/* A life that is recorded from 1000 on. */
struct told {
	struct life life;
	struct life_wait first;
	int waits;
	struct life_visit visit;
};

static void on_wait(void *arg, const struct life *l, const struct life_wait *wait)
{
	struct told *t = arg;

	if (!t->waits++)
		t->first = *wait;
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
	struct record_switch r = {.head = {.kind = RECORD_switch, .time_ns = time_ns},
				  .next_tid = TID};

	feed(t, LIFE_ENTERS, &r);
}

static void woken(struct told *t, u64 time_ns, u8 context)
{
	struct record_waking r = {.head = {.kind = RECORD_waking, .tid = TID, .time_ns = time_ns},
				  .waker_tid = 9,
				  .context = context};

	feed(t, LIFE_WAKING, &r);
}

static void returns(struct told *t, u64 begin_ns, u64 time_ns, u16 nr, u8 file_kind)
{
	struct record_syscall r = {.head = {.kind = RECORD_syscall, .tid = TID, .time_ns = time_ns},
				   .nr = nr,
				   .duration_ns = time_ns - begin_ns};

	r.file.kind = file_kind;
	feed(t, LIFE_SYSCALL, &r);
}

static void finish(struct told *t)
{
	const struct life_sink sink = {t, on_wait, on_visit, on_share, on_share, on_share};

	CHECK_EQ(life_finish(&t->life, 1000, 6000, &sink), 0);
	CHECK_EQ(split_total(&t->life.total), 5000);
	life_free(&t->life);
}

/* It slept from 1000 to 2000, and had its turn at 2500. */
static void check_slept(const struct told *t, enum split_part part)
{
	CHECK_EQ(t->first.begin_ns, 1000);
	CHECK_EQ(t->first.end_ns, 2500);
	CHECK_EQ(t->first.part, part);
	CHECK_EQ(t->first.visit_ns, 1000);
	CHECK_EQ(t->first.split.ns[part], 1000);
	CHECK_EQ(t->first.split.ns[SPLIT_runnable], 500);
	CHECK_EQ(t->life.total.ns[part], 1000);
	CHECK_EQ(t->life.total.ns[SPLIT_runnable], 500);
}

/* Nothing but that it waited for its turn from its waking on. */
static void check_unknown(const struct told *t)
{
	CHECK_EQ(t->first.begin_ns, 2000);
	CHECK_EQ(t->first.part, SPLIT_runnable);
	CHECK_EQ(t->first.nr, LIFE_CALL_UNKNOWN);
	CHECK_EQ(t->first.visit_ns, 0);
	CHECK(t->life.total.ns[SPLIT_unknown] >= 1000);
	CHECK_EQ(t->life.total.ns[SPLIT_runnable], 500);
}

static struct told began(u8 context)
{
	struct told t = {0};

	life_init(&t.life, TID);
	woken(&t, 2000, context);
	enters(&t, 2500);
	return t;
}

TEST(one_that_is_woken_first_behind_its_move_into_scope_slept_in_the_call_that_ends_next)
{
	struct told t = {0};

	life_init_entered(&t.life, TID, TID, 1000, 0);
	woken(&t, 2000, WAKE_timer);
	enters(&t, 2500);
	returns(&t, 990, 2600, SYSCALL_NR_nanosleep, 0); /* the clock was read before the record */
	finish(&t);
	check_slept(&t, SPLIT_timer);
	CHECK_EQ(t.visit.begin_ns, 1000);
	CHECK_EQ(t.visit.split.ns[SPLIT_timer], 1000);
	CHECK_EQ(t.visit.split.ns[SPLIT_runnable], 500);
	CHECK_EQ(t.visit.split.ns[SPLIT_kernel], 100);
}

TEST(one_that_is_woken_first_slept_in_the_call_that_ends_next)
{
	struct told t = began(WAKE_timer);

	returns(&t, 1000, 2600, SYSCALL_NR_nanosleep, 0);
	finish(&t);
	check_slept(&t, SPLIT_timer);
	CHECK_EQ(t.visit.split.ns[SPLIT_timer], 1000);
	CHECK_EQ(t.visit.split.ns[SPLIT_runnable], 500);
	CHECK_EQ(t.visit.split.ns[SPLIT_kernel], 100);
	CHECK_EQ(split_total(&t.visit.split), 1600);
}

/* As it had run then, or in a fault of the call, or with another waking, which is void. */
TEST(what_lies_between_says_nothing_of_it)
{
	struct told t = {0};
	struct record_thread th = {.head = {.kind = RECORD_thread, .tid = TID, .time_ns = 2550},
				   .flags = THREAD_ON_CPU};
	struct record_fault fault = {.head = {.kind = RECORD_fault, .tid = TID, .time_ns = 2580},
				     .duration_ns = 10};

	life_init(&t.life, TID);
	woken(&t, 2000, WAKE_task);
	enters(&t, 2500);
	feed(&t, LIFE_SNAPSHOT, &th);
	feed(&t, LIFE_FAULT, &fault);
	woken(&t, 2590, WAKE_timer);
	returns(&t, 1000, 2600, SYSCALL_NR_read, FILE_KIND_pipe);
	finish(&t);
	check_slept(&t, SPLIT_ipc);
}

TEST(or_in_the_call_that_it_sleeps_in_again)
{
	struct told t = began(WAKE_timer);
	struct record_switch r = {.head = {.kind = RECORD_switch, .tid = TID, .time_ns = 2600},
				  .nr = SYSCALL_NR_nanosleep,
				  .mode = MODE_syscall,
				  .state = LEAVE_sleep,
				  .since_ns = 1600};

	feed(&t, LIFE_LEAVES, &r);
	finish(&t);
	CHECK_EQ(t.waits, 2);
	CHECK_EQ(t.first.part, SPLIT_timer);
	CHECK_EQ(t.first.begin_ns, 1000);
	CHECK_EQ(t.first.visit_ns, 1000);
}

TEST(a_call_that_began_later_says_nothing)
{
	struct told t = began(WAKE_timer);

	returns(&t, 1001, 2600, SYSCALL_NR_nanosleep, 0);
	finish(&t);
	check_unknown(&t);
}

TEST(nor_does_user_code)
{
	struct told t = began(WAKE_timer);
	struct record_head r = {.tid = TID, .time_ns = 2600};

	feed(&t, LIFE_USER, &r);
	finish(&t);
	check_unknown(&t);
}

TEST(nor_does_a_call_of_a_file_that_is_not_told)
{
	struct told t = began(WAKE_task);

	returns(&t, 1000, 2600, SYSCALL_NR_read, 0);
	finish(&t);
	check_unknown(&t);
}

TEST(nor_does_anything_if_records_were_lost_before)
{
	struct record_lost lost = {
		.head = {.kind = RECORD_lost, .cpu = LIFE_CPU_UNKNOWN, .time_ns = 1500},
		.begin_ns = 1400};
	struct told t = {0};

	life_init(&t.life, TID);
	feed(&t, LIFE_LOST, &lost);
	woken(&t, 2000, WAKE_timer);
	enters(&t, 2500);
	returns(&t, 1000, 2600, SYSCALL_NR_nanosleep, 0);
	finish(&t);
	CHECK_EQ(t.life.total.ns[SPLIT_timer], 0);
}

TEST(one_that_ran_or_waited_for_its_turn_slept_in_nothing)
{
	for (int preempted = 0; preempted < 2; preempted++) {
		struct told t = {0};

		life_init(&t.life, TID);
		if (preempted)
			enters(&t, 2500);
		returns(&t, 1000, 2600, SYSCALL_NR_nanosleep, 0);
		finish(&t);
		CHECK_EQ(t.waits, 0);
		CHECK_EQ(t.life.total.ns[SPLIT_timer], 0);
	}
}

/* Of two recordings that follow one another, wherever they were cut. */
TEST(it_is_told_alike_by_two_halves)
{
	for (int cut = 0; cut <= 3; cut++) {
		struct told left = {0}, right = {0};
		const struct life_sink sink = {&left,	 on_wait,  on_visit,
					       on_share, on_share, on_share};

		life_init(&left.life, TID);
		life_init(&right.life, TID);
		woken(cut > 0 ? &left : &right, 2000, WAKE_timer);
		enters(cut > 1 ? &left : &right, 2500);
		returns(cut > 2 ? &left : &right, 1000, 2600, SYSCALL_NR_nanosleep, 0);
		/* a checkpoint of what the left one has, and all */
		CHECK_EQ(life_anchor(&left.life, 1000, &sink), 0);
		CHECK_EQ(life_join(&left.life, &right.life, &sink), 0);
		finish(&left);
		check_slept(&left, SPLIT_timer);
	}
}

/* ---- application records that are told too late: it was in user code before ---- */

static void earlier(struct told *t, u64 time_ns)
{
	struct record_head r = {.kind = RECORD_span_end, .tid = TID, .time_ns = time_ns};

	feed(t, LIFE_EARLIER, &r);
}

static void lost(struct told *t, u64 begin_ns, u64 end_ns)
{
	struct record_lost r = {
		.head = {.kind = RECORD_lost, .time_ns = end_ns, .cpu = LIFE_CPU_UNKNOWN},
		.begin_ns = begin_ns};

	feed(t, LIFE_LOST, &r);
}

/* From 1500 on it sleeps in the call that began at 1400. */
static void sleeps(struct told *t)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .tid = TID, .time_ns = 1500},
				  .since_ns = 100,
				  .mode = MODE_syscall,
				  .nr = SYSCALL_NR_nanosleep,
				  .state = LEAVE_sleep};

	feed(t, LIFE_LEAVES, &r);
}

static void wakes_and_returns(struct told *t)
{
	woken(t, 2000, WAKE_timer);
	enters(t, 2500);
	returns(t, 1400, 2600, SYSCALL_NR_nanosleep, 0);
}

/* In two waits, which are those of its call. */
static void check_slept_on(struct told *t)
{
	finish(t);
	CHECK_EQ(t->waits, 2);
	CHECK_EQ(t->first.end_ns, 1800);
	CHECK_EQ(t->life.total.ns[SPLIT_timer], 500);
	CHECK_EQ(t->life.total.ns[SPLIT_runnable], 500);
	CHECK_EQ(t->visit.split.ns[SPLIT_timer], 500);
	CHECK_EQ(t->visit.split.ns[SPLIT_runnable], 500);
	CHECK_EQ(t->visit.split.ns[SPLIT_unknown], 0);
}

TEST(one_that_sleeps_sleeps_on_when_a_record_comes_too_late)
{
	struct told t = {0};

	life_init(&t.life, TID);
	sleeps(&t);
	earlier(&t, 1800);
	wakes_and_returns(&t);
	check_slept_on(&t);
}

TEST(what_comes_too_late_at_a_cut_is_the_same_if_halves_are_joined)
{
	struct told left = {0}, right = {0};
	const struct life_sink sink = {&left, on_wait, on_visit, on_share, on_share, on_share};

	life_init(&left.life, TID);
	sleeps(&left);
	life_init(&right.life, TID);
	earlier(&right, 1800);
	wakes_and_returns(&right);
	CHECK_EQ(right.waits, 0);
	CHECK_EQ(life_join(&left.life, &right.life, &sink), 0);
	check_slept_on(&left);
}

/* Of what it slept in meanwhile only its call can tell. */
TEST(one_that_slept_while_records_were_lost_may_have_come_back_before_a_late_one)
{
	for (int cut = 0; cut < 3; cut++)
		for (int same = 0; same < 2; same++) {
			struct told left = {0}, right = {0};
			const struct life_sink sink = {&left,	 on_wait,  on_visit,
						       on_share, on_share, on_share};

			life_init(&left.life, TID);
			life_init(&right.life, TID);
			sleeps(&left);
			lost(cut > 0 ? &left : &right, 1600, 1700);
			earlier(cut > 1 ? &left : &right, 1800);
			woken(&right, 2000, WAKE_timer);
			enters(&right, 2500);
			returns(&right, same ? 1400 : 1650, 2600, SYSCALL_NR_nanosleep, 0);
			CHECK_EQ(life_join(&left.life, &right.life, &sink), 0);
			finish(&left);
			CHECK_EQ(left.life.total.ns[SPLIT_timer], same ? 400 : 200);
			CHECK_EQ(left.life.total.ns[SPLIT_runnable], 500);
		}
}

TEST(one_that_computed_when_a_record_came_too_late_may_be_in_the_same_call)
{
	struct told t = {0};

	life_init(&t.life, TID);
	sleeps(&t);
	woken(&t, 2000, WAKE_timer);
	enters(&t, 2500);
	earlier(&t, 2550);
	returns(&t, 1400, 2600, SYSCALL_NR_nanosleep, 0);
	finish(&t);
	CHECK_EQ(t.visit.split.ns[SPLIT_timer], 500);
	CHECK_EQ(t.visit.split.ns[SPLIT_runnable], 500);
	CHECK_EQ(t.visit.split.ns[SPLIT_unknown], 50);
}

TEST(one_that_was_in_user_code_before_did_not_sleep_since)
{
	struct told t = {0};

	life_init_born(&t.life, TID, TID, 1000, 0);
	enters(&t, 1100);
	earlier(&t, 1200);
	woken(&t, 2000, WAKE_timer);
	enters(&t, 2500);
	returns(&t, 1150, 2600, SYSCALL_NR_nanosleep, 0);
	CHECK_EQ(t.life.total.ns[SPLIT_timer], 0);
	life_free(&t.life);
}

/* A snapshot does not know the span of a thread that sleeps; the end of its call does. */
TEST(a_wait_that_the_snapshot_found_has_the_context_of_its_call)
{
	for (int under = 0; under < 2; under++) {
		struct told t = {0};
		struct record_thread th = {
			.head = {.kind = RECORD_thread, .tid = TID, .time_ns = 1100},
			.since_ns = 100,
			.nr = SYSCALL_NR_recvfrom,
			.mode = MODE_syscall,
			.state = LEAVE_sleep,
			.file = {.kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED}};
		struct record_syscall r = {
			.head = {.kind = RECORD_syscall, .tid = TID, .time_ns = 3000},
			.nr = SYSCALL_NR_recvfrom,
			.duration_ns = 2000,
			.file = {.kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED},
			.ctx = {.trace = {1}, .span = {1}}};

		if (!under)
			r.ctx = (struct context){0};
		life_init(&t.life, TID);
		feed(&t, LIFE_SNAPSHOT, &th);
		woken(&t, 2000, WAKE_softirq);
		enters(&t, 2500);
		feed(&t, LIFE_SYSCALL, &r);
		finish(&t);
		check_slept(&t, SPLIT_network);
		CHECK_EQ(context_is_none(&t.first.ctx), !under);
		CHECK_EQ(t.visit.idle.ns[SPLIT_network - WORK_FIRST_PART], under ? 0 : 1000);
		work_add(&t.life.idle.known, &t.life.idle.head);
		work_add(&t.life.idle.known, &t.life.idle.open);
		CHECK_EQ(t.life.idle.known.ns[SPLIT_network - WORK_FIRST_PART], under ? 0 : 1000);
	}
}

TEST_MAIN()
