/* SPDX-License-Identifier: Apache-2.0 */
/* Which process owned a thread id, from the records of threads. */
#include "capture/app/thread_owners.h"

#include <stdlib.h>

#include "tests/unit/check.h"

#define PLACES (1u << THREAD_OWNERS_BITS)

static struct thread_owners owners;

union life {
	struct record_head head;
	struct record_fork fork;
	struct record_thread thread;
	struct record_exec exec;
	struct record_exit exit;
	u8 slots[2 * RECORD_SLOT_BYTES];
};

static union life life(u8 kind, u32 tid, u32 pid, u64 time_ns)
{
	union life r = {.head = {.kind = kind, .tid = tid, .pid = pid, .time_ns = time_ns}};

	return r;
}

static void note(u8 kind, u32 tid, u32 pid, u64 time_ns)
{
	union life r = life(kind, tid, pid, time_ns);

	if (kind == RECORD_exec)
		r.exec.old_tid = tid;
	thread_owners_note(&owners, &r.head);
}

static void start(void)
{
	memset(&owners, 0, sizeof(owners));
}

TEST(a_number_goes_from_one_process_to_another)
{
	start();
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 10), THREAD_OWNER_UNKNOWN);
	note(RECORD_exit, 7, 5, 100); /* older than the recording */
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 100), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 100), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 101), THREAD_OWNER_UNKNOWN);
	note(RECORD_fork, 7, 6, 200);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 200), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 200), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 150), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 150), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 90), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 90), THREAD_OWNED_BY_NONE);
	note(RECORD_exit, 7, 6, 300);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 250), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 6, 150), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 250), THREAD_OWNED_BY_NONE);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 301), THREAD_OWNER_UNKNOWN);
}

/* It takes the number of the leader, whose end was recorded; its own gets no other end. */
TEST(a_second_thread_execs)
{
	union life exec = life(RECORD_exec, 5, 5, 200);

	start();
	note(RECORD_fork, 5, 5, 10);
	note(RECORD_fork, 7, 5, 20);
	note(RECORD_exit, 5, 5, 199);
	exec.exec.old_tid = 7;
	thread_owners_note(&owners, &exec.head);
	CHECK_EQ(thread_owners_judge(&owners, 5, 5, 150), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 5, 5, 201), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 150), THREAD_OWNED);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 201), THREAD_OWNER_UNKNOWN);
	note(RECORD_exec, 5, 5, 300); /* by its only thread: nothing changes */
	CHECK_EQ(thread_owners_judge(&owners, 5, 5, 201), THREAD_OWNED);
}

TEST(what_was_found_holds_until_the_thread_ends)
{
	start();
	CHECK(thread_owners_holds(&owners, 7, 50));
	note(RECORD_fork, 7, 5, 40);
	CHECK(thread_owners_holds(&owners, 7, 50));
	note(RECORD_exit, 7, 5, 60);
	CHECK(!thread_owners_holds(&owners, 7, 50));
	CHECK(thread_owners_holds(&owners, 7, 70));
}

/* With another number in its place it is not known whether it ended. */
TEST(what_was_forgotten_does_not_hold)
{
	start();
	note(RECORD_exit, 7, 5, 60);
	note(RECORD_fork, 7 + PLACES, 6, 80);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 50), THREAD_OWNER_UNKNOWN);
	CHECK_EQ(thread_owners_judge(&owners, 7 + PLACES, 6, 90), THREAD_OWNED);
	CHECK(!thread_owners_holds(&owners, 7, 50));
	CHECK(!thread_owners_holds(&owners, 7, 80));
	CHECK(thread_owners_holds(&owners, 7, 81));
}

/* A thread that comes into scope had its number before, and so may somebody who is not recorded. */
TEST(who_enters_is_not_known)
{
	union life enters = life(RECORD_thread, 7, 5, 90);

	start();
	note(RECORD_fork, 7, 6, 10);
	enters.thread.flags = THREAD_ENTERS;
	thread_owners_note(&owners, &enters.head);
	CHECK_EQ(thread_owners_judge(&owners, 7, 5, 95), THREAD_OWNER_UNKNOWN);
	CHECK(!thread_owners_holds(&owners, 7, 90));
	CHECK(thread_owners_holds(&owners, 7, 91));
}

TEST_MAIN()
