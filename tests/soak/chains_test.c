/* SPDX-License-Identifier: Apache-2.0 */
#include "chains.h"

#include "check.h"

static struct chains *chains;
static char *text;
static size_t bytes;
static FILE *out;

static void covers(u64 begin_ns, u64 end_ns)
{
	const struct chunk_info info = {
		.state = CHUNK_SEALED, .begin_ns = begin_ns, .end_ns = end_ns};

	chains_chunk(chains, &info);
}

static void begin(void)
{
	out = open_memstream(&text, &bytes);
	chains = chains_new(out);
	CHECK(chains);
	covers(1, 1000);
}

static void ends_with(const char *should)
{
	chains_free(chains);
	fclose(out);
	CHECK_STR(text, should);
	free(text);
}

static void leaves(u64 time_ns, u32 tid, u32 next, u8 state, u8 mode)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .time_ns = time_ns, .tid = tid},
				  .next_tid = next,
				  .state = state,
				  .mode = mode};

	chains_record(chains, &r.head);
}

static void wakes(u64 time_ns, u32 tid, u32 pid)
{
	struct record_waking r = {
		.head = {.kind = RECORD_waking, .time_ns = time_ns, .tid = tid, .pid = pid}};

	chains_record(chains, &r.head);
}

TEST(nothing_is_missing)
{
	begin();
	leaves(10, 0, 5, LEAVE_idle, 0);
	leaves(20, 5, 6, LEAVE_sleep, 0);
	wakes(25, 5, 5);
	leaves(30, 6, 5, LEAVE_preempted, 0);
	leaves(40, 5, 5, LEAVE_running, 0);
	wakes(45, 5, 5); /* as it is about to sleep */
	leaves(50, 5, 6, LEAVE_sleep, 0);
	leaves(60, 6, 5, LEAVE_dead, 0);
	ends_with("");
}

TEST(a_switch_is_missing)
{
	begin();
	leaves(10, 0, 5, LEAVE_idle, 0);
	leaves(20, 6, 0, LEAVE_preempted, 0);
	leaves(30, 7, 7, LEAVE_running, 0);
	ends_with("switch 10 20 0\nswitch 20 30 0\n");
}

TEST(a_waking_is_missing)
{
	begin();
	leaves(10, 5, 0, LEAVE_disk_sleep, 0);
	leaves(20, 0, 5, LEAVE_idle, 0);
	ends_with("waking 10 20 5\n");
}

TEST(out_of_scope_and_idle_nothing_is_told)
{
	begin();
	leaves(10, 5, 90, LEAVE_preempted, MODE_NEXT_OUT);
	leaves(20, 0, 5, LEAVE_idle, 0);
	leaves(30, 5, 0, LEAVE_preempted, 0);
	leaves(40, 91, 5, LEAVE_sleep, MODE_PREV_OUT);
	leaves(50, 5, 91, LEAVE_preempted, MODE_NEXT_OUT);
	ends_with("");
}

TEST(what_process_1_does_may_be_hidden)
{
	begin();
	wakes(5, 70, 1);
	leaves(10, 5, 70, LEAVE_sleep, 0);
	leaves(20, 0, 5, LEAVE_idle, 0);
	leaves(30, 5, 6, LEAVE_sleep, 0); /* after that all is seen again */
	leaves(40, 6, 5, LEAVE_preempted, 0);
	chains_print(chains);
	ends_with("waking 30 40 5\nchecked 4 2 1\n");
}

TEST(behind_a_loss_it_may_be_hidden_who_runs)
{
	struct record_lost lost = {.head = {.kind = RECORD_lost, .time_ns = 25},
				   .why = LOST_buffer,
				   .lost_kind = RECORD_switch,
				   .begin_ns = 15};

	begin();
	leaves(10, 5, 6, LEAVE_sleep, 0);
	chains_record(chains, &lost.head);
	leaves(30, 6, 7, LEAVE_preempted, 0);
	leaves(40, 7, 6, LEAVE_preempted, 0);
	ends_with("unknown 15 30\n");
}

TEST(behind_a_gap_nothing_is_known)
{
	begin();
	leaves(10, 5, 6, LEAVE_sleep, 0);
	covers(1000, 2000);
	covers(2001, 3000);
	leaves(2010, 7, 5, LEAVE_preempted, 0);
	ends_with("");
}

TEST_MAIN()
