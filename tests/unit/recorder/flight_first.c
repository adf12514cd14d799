/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a thread at the begin of a chunk, by its later state and its first records. */
#include "recorder/flight_first.h"

#include <string.h>

#include "record/syscalls.h"
#include "tests/unit/check.h"

#define FROM 1000
#define LOOKED 9000
#define TID 7

static const struct file_ref a_pipe = {.key = 3, .kind = FILE_KIND_pipe};

/* At the end the thread is in a call on the pipe, which began since_ns before. */
static struct record_thread found(u16 nr, u64 since_ns)
{
	return (struct record_thread){
		.head = {.kind = RECORD_thread, .slots = 2, .time_ns = LOOKED, .tid = TID},
		.since_ns = since_ns,
		.nr = nr,
		.mode = MODE_syscall,
		.state = LEAVE_sleep,
		.file = a_pipe};
}

static union record {
	struct record_head head;
	struct record_waking waking;
	struct record_switch sw;
	struct record_syscall call;
	u8 slots[3 * RECORD_SLOT_BYTES];
} records[8];
static unsigned int records_count;

static union record *record(u8 kind, u32 tid, u64 time_ns)
{
	union record *r = &records[records_count++];

	memset(r, 0, sizeof(*r));
	r->head = (struct record_head){.kind = kind, .slots = 3, .time_ns = time_ns, .tid = tid};
	return r;
}

static void wakes(u64 time_ns)
{
	record(RECORD_waking, TID, time_ns)->waking.context = WAKE_task;
}

static void runs(u64 time_ns)
{
	record(RECORD_switch, 99, time_ns)->sw.next_tid = TID;
}

static void leaves_in(u16 nr, u64 since_ns, u64 time_ns)
{
	union record *r = record(RECORD_switch, TID, time_ns);

	r->sw.mode = MODE_syscall;
	r->sw.state = LEAVE_sleep;
	r->sw.nr = nr;
	r->sw.since_ns = since_ns;
}

static union record *ends(u16 nr, u64 duration_ns, u64 time_ns)
{
	union record *r = record(RECORD_syscall, TID, time_ns);

	r->call.nr = nr;
	r->call.duration_ns = duration_ns;
	r->call.file = a_pipe;
	return r;
}

/* Adds the records in any order. Whether the state at the begin is known. */
static bool told(struct record_thread *th)
{
	struct flight_first f = {0};

	while (records_count)
		CHECK_EQ(flight_first_add(&f, &records[--records_count].head), 0);
	flight_first_state(&f, th, FROM);
	flight_first_free(&f);
	CHECK_EQ(th->head.time_ns, LOOKED);
	return !(th->flags & (THREAD_LATER | THREAD_UNFOLLOWED | THREAD_ON_CPU));
}

TEST(who_did_nothing_is_told_as_it_is_found)
{
	struct record_thread th = found(SYSCALL_NR_read, 8001);

	CHECK(told(&th));
	CHECK_EQ(th.nr, SYSCALL_NR_read);
	CHECK_EQ(th.since_ns, 8001);
	th.since_ns = 8000; /* when the chunk begins */
	CHECK(told(&th));
	th.since_ns = 0; /* not known */
	CHECK(told(&th));
}

TEST(a_call_that_began_in_the_chunk_tells_nothing_of_before)
{
	struct record_thread th = found(SYSCALL_NR_wait4, 7999);

	CHECK(!told(&th));
}

TEST(who_has_its_turn_soon_may_have_slept)
{
	struct record_thread th = found(SYSCALL_NR_read, 8001);

	th.state = LEAVE_preempted;
	CHECK(!told(&th));
	th.flags = 0;
	th.state = LEAVE_preempted;
	wakes(8500);
	CHECK(told(&th));
	CHECK_EQ(th.state, LEAVE_sleep);
}

TEST(the_call_that_it_was_woken_in_is_told_by_its_end)
{
	struct record_thread th = found(SYSCALL_NR_wait4, 3000);

	th.file = (struct file_ref){0};
	wakes(4000);
	runs(4010);
	ends(SYSCALL_NR_read, 3500, 4020);
	leaves_in(SYSCALL_NR_wait4, 20, 6000);
	CHECK(told(&th));
	CHECK_EQ(th.nr, SYSCALL_NR_read);
	CHECK_EQ(th.mode, MODE_syscall);
	CHECK_EQ(th.file.kind, FILE_KIND_pipe);
	CHECK_EQ(th.since_ns, LOOKED - 4020 + 3500);
}

TEST(also_of_one_that_is_found_running_and_in_no_call)
{
	struct record_thread th = found(0, 0);

	th.mode = MODE_user;
	th.flags = THREAD_ON_CPU | THREAD_UNFOLLOWED;
	wakes(4000);
	runs(4010);
	ends(SYSCALL_NR_read, 3020, 4020)->call.flags = SYSCALL_COMPAT;
	CHECK(told(&th));
	CHECK_EQ(th.nr, SYSCALL_NR_read);
	CHECK_EQ(th.mode, MODE_syscall | MODE_COMPAT);
	CHECK_EQ(th.since_ns, LOOKED - FROM);
}

TEST(the_call_that_it_slept_in_again_is_told_by_that)
{
	struct record_thread th = found(SYSCALL_NR_wait4, 3000);

	wakes(4000);
	runs(4010);
	leaves_in(SYSCALL_NR_futex, 3500, 4020);
	CHECK(told(&th));
	CHECK_EQ(th.nr, SYSCALL_NR_futex);
}

TEST(a_call_that_began_behind_the_waking_is_not_it)
{
	struct record_thread th = found(SYSCALL_NR_read, 3000);

	wakes(4000);
	runs(4010);
	ends(SYSCALL_NR_read, 3019, 4020);
	CHECK(!told(&th));
}

TEST(who_was_not_asleep_when_the_chunk_began_is_unknown)
{
	struct record_thread th = found(SYSCALL_NR_read, 8001);

	runs(4010); /* it was woken before, or preempted */
	CHECK(!told(&th));
	th = found(SYSCALL_NR_read, 8001);
	leaves_in(SYSCALL_NR_read, 4000, 4010); /* it ran */
	CHECK(!told(&th));
	th = found(SYSCALL_NR_read, 8001);
	wakes(4000); /* it was about to sleep */
	leaves_in(SYSCALL_NR_read, 4000, 4010);
	CHECK(!told(&th));
	th = found(SYSCALL_NR_read, 0);
	th.mode = MODE_fault;
	wakes(4000);
	CHECK(!told(&th));
}

TEST(a_call_in_which_the_cause_hangs_on_how_it_slept_is_unknown)
{
	struct record_thread th = found(SYSCALL_NR_wait4, 3000);

	wakes(4000); /* open: of a FIFO, or it looked up a path */
	runs(4010);
	ends(SYSCALL_NR_openat, 3500, 4020)->call.file = (struct file_ref){0};
	CHECK(!told(&th));
}

TEST(a_kernel_thread_that_was_woken_waited_for_work)
{
	struct record_thread th = found(0, 0);

	th.mode = MODE_kernel_thread;
	wakes(4000);
	runs(4010);
	CHECK(told(&th));
	record(RECORD_switch, TID, 4020)->sw.mode = MODE_kernel_thread;
	CHECK(!told(&th));
}

TEST_MAIN()
