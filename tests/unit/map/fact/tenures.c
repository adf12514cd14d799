/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a number belong to the thread or process that had it: after a fork, or behind a gap. */
#include <stdio.h>

#include "apply.h"
#include "map/checkpoint/checkpoint.h"
#include "map/fact/query.h"
#include "map/tree/tree.h"

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct record_head head(u8 kind, u64 time_ns)
{
	return (struct record_head){.kind = kind, .time_ns = time_ns, .tid = 5, .pid = 5};
}

/* A snapshot tells the process and its leader. */
static void found(struct partial *p, u64 time_ns, u64 start_ns, const char *name, u64 cgroup)
{
	struct record_process r = {
		.head = head(RECORD_process, time_ns), .start_ns = start_ns, .cgroup = cgroup};
	struct record_thread th = {.head = head(RECORD_thread, time_ns + 1),
				   .start_ns = start_ns,
				   .flags = THREAD_ON_CPU};

	r.command_len =
		(u16)(snprintf(r.command, sizeof(r.command), "%s%c/bin/%s", name, 0, name) + 1);
	th.comm_len = (u8)snprintf(th.comm, sizeof(th.comm), "%s", name);
	apply(p, &r);
	apply(p, &th);
}

static void forked(struct partial *p, u64 time_ns, u64 start_ns, const char *name)
{
	struct record_fork r = {.head = head(RECORD_fork, time_ns),
				.parent_tid = 4,
				.parent_pid = 4,
				.start_ns = start_ns};

	r.comm_len = (u8)snprintf(r.comm, sizeof(r.comm), "%s", name);
	apply(p, &r);
}

static void executed(struct partial *p, u64 time_ns, u32 flags, u64 start_ns, const char *name)
{
	struct record_exec r = {
		.head = head(RECORD_exec, time_ns), .flags = flags, .start_ns = start_ns};

	r.command_len =
		(u16)(snprintf(r.command, sizeof(r.command), "%s%c/bin/%s", name, 0, name) + 1);
	apply(p, &r);
}

static void renamed(struct partial *p, u64 time_ns, const char *name)
{
	struct record_name r = {.head = head(RECORD_name, time_ns)};

	r.comm_len = (u8)snprintf(r.comm, sizeof(r.comm), "%s", name);
	apply(p, &r);
}

static void serves(struct partial *p, u64 time_ns, const char *service)
{
	struct record_service r = {.head = head(RECORD_service, time_ns)};

	r.resource_len =
		(u16)(snprintf(r.resource, sizeof(r.resource), "service.name%c%s", 0, service) + 1);
	apply(p, &r);
}

static void gap(struct partial *p, u64 begin_ns, u64 end_ns)
{
	struct record_gap r = {.head = head(RECORD_gap, end_ns), .begin_ns = begin_ns};

	apply(p, &r);
}

static void container(struct partial *p, u64 id)
{
	struct record_cgroup r = {.head = head(RECORD_cgroup, 1), .id = id};

	r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/docker/" CONTAINER);
	apply(p, &r);
}

/* Recorded are [1000, 2000) and [3000, 4000). */
static struct partial *finished(struct partial *p)
{
	partial_cover(p, 1000, 4000);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

TEST(a_name_is_of_one_start_time)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	renamed(p, 1500, "renamed");
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	executed(p, 3500, 0, 2500, "later");
	finished(p);
	CHECK_STR(query_comm(p, 5, 1000), "first");
	CHECK_STR(query_comm(p, 5, 1999), "renamed");
	CHECK_STR(query_comm(p, 5, 3000), "second"); /* before the snapshot told it */
	CHECK_STR(query_comm(p, 5, 3200), "second");
	CHECK_STR(query_comm(p, 5, UINT64_MAX), "later");
	CHECK_EQ(query_held_until(p, 5, 1000), 2499);
	CHECK_STR(query_comm(p, 5, query_held_until(p, 5, 1000)), "renamed");
	CHECK_EQ(query_held_until(p, 5, 3000), UINT64_MAX);
	partial_free(p);
}

/* What was told of it first is true before, and not what was told of who had the number. */
TEST(a_name_that_goes_before_the_snapshot)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	gap(p, 2000, 3000);
	renamed(p, 3050, "second");
	renamed(p, 3051, "third");
	found(p, 3100, 2500, "third", 0);
	finished(p);
	CHECK_STR(query_comm(p, 5, 1999), "first");
	CHECK_STR(query_comm(p, 5, 3000), "second");
	CHECK_STR(query_comm(p, 5, 3050), "second");
	CHECK_STR(query_comm(p, 5, 3051), "third");
	CHECK_EQ(query_pid(p, 5, 3000), 5);
	partial_free(p);
}

TEST(who_is_found_again_goes_on)
{
	struct partial *p = partial_new(NULL);

	forked(p, 1100, 1099, "forked");
	renamed(p, 1500, "renamed");
	gap(p, 2000, 3000);
	found(p, 3100, 1099, "changed", 0);
	finished(p);
	CHECK_STR(query_comm(p, 5, 3000), "renamed");
	CHECK_STR(query_comm(p, 5, 3100), "changed");
	CHECK_EQ(query_held_until(p, 5, 1100), UINT64_MAX);
	partial_free(p);
}

/* Of that no name is known, and that of the next one is not it. */
TEST(no_name_holds_before_its_thread_was_made)
{
	struct partial *p = partial_new(NULL);

	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK_STR(query_comm(p, 5, 1500), NULL);
	CHECK_EQ(query_pid(p, 5, 1500), 0);
	CHECK_STR(query_comm(p, 5, 2600), "second");
	partial_free(p);
}

/* `fathom record -- CMD` tells of it with its exec first. */
TEST(a_command_that_is_recorded_from_its_exec_on_is_another)
{
	struct partial *p = partial_new(NULL);

	executed(p, 1100, EXEC_BEGINS, 1050, "first");
	gap(p, 2000, 3000);
	executed(p, 3100, EXEC_BEGINS, 2500, "second");
	finished(p);
	CHECK_EQ(query_held_until(p, 5, 1100), 2499);
	CHECK_STR(query_comm(p, 5, query_held_until(p, 5, 1100)), "first");
	CHECK_STR(query_comm(p, 5, 3100), "second");
	partial_free(p);
}

/* Its fork was lost, and what it did before it was named is its own. */
TEST(an_exec_says_nothing_of_who_had_the_number_before_it)
{
	struct partial *p = partial_new(NULL);

	renamed(p, 1100, "first");
	executed(p, 1500, 0, 1200, "second");
	finished(p);
	CHECK_EQ(query_held_until(p, 5, 1000), UINT64_MAX);
	partial_free(p);
}

TEST(what_a_process_runs_is_of_one_start_time)
{
	struct partial *p = partial_new(NULL);

	forked(p, 1100, 1099, "first");
	executed(p, 1200, 0, 1099, "first");
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK_STR(query_executable(p, 5, 1900), "/bin/first");
	CHECK_STR(query_executable(p, 5, 3000), "/bin/second");
	CHECK_STR(query_executable(p, 5, 3200), "/bin/second");
	partial_free(p);
}

TEST(a_process_that_told_no_service_has_none)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	serves(p, 1200, "shop");
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK_STR(query_resource(p, 5, 1000, "service.name"), "shop");
	CHECK_STR(query_resource(p, 5, 3000, "service.name"), NULL);
	partial_free(p);
	p = partial_new(NULL);
	found(p, 1100, 500, "first", 0);
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	serves(p, 3200, "shop");
	finished(p);
	CHECK_STR(query_resource(p, 5, 1000, "service.name"), NULL);
	CHECK_STR(query_resource(p, 5, 3000, "service.name"), "shop");
	partial_free(p);
}

/* The fork was seen. The new process told no service: that of the one before is not its. */
TEST(a_service_ends_with_its_process)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	serves(p, 1200, "old");
	forked(p, 2000, 1990, "second");
	finished(p);
	CHECK_STR(query_resource(p, 5, 1500, "service.name"), "old");
	CHECK(!query_resource(p, 5, 2500, "service.name"));
	CHECK_EQ(query_held_until(p, 5, 1500), 1999);
	CHECK_EQ(query_held_until(p, 5, 2000), UINT64_MAX);
	partial_free(p);
}

TEST(a_container_is_of_one_start_time)
{
	struct partial *p = partial_new(NULL);

	container(p, 10);
	found(p, 1100, 500, "first", 10);
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 11);
	finished(p);
	CHECK_STR(query_container(p, 5, 1000), CONTAINER);
	CHECK_STR(query_container(p, 5, 1900), CONTAINER);
	CHECK_STR(query_container(p, 5, 3000), NULL);
	CHECK_STR(query_container(p, 5, 3200), NULL);
	partial_free(p);
	p = partial_new(NULL);
	container(p, 10);
	forked(p, 1100, 1099, "first");
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 10);
	finished(p);
	CHECK_STR(query_container(p, 5, 1900), NULL);
	CHECK_STR(query_container(p, 5, 3000), CONTAINER);
	partial_free(p);
}

static void maps(struct partial *p, u64 since_ns)
{
	struct record_mapping r = {.head = head(RECORD_mapping, since_ns),
				   .since_ns = since_ns,
				   .begin = 0x1000,
				   .end = 0x2000};

	r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/bin/first");
	apply(p, &r);
}

TEST(code_that_was_mapped_is_of_one_start_time)
{
	static const struct partial_options spans = {.spans = true};
	const struct fact_stack first = {.pid = 5, .flags = STACK_USER, .time_ns = 1900};
	const struct fact_stack second = {.pid = 5, .flags = STACK_USER, .time_ns = 3500};
	struct partial *p = partial_new(&spans);

	found(p, 1100, 500, "first", 0);
	maps(p, 1200);
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK(query_mapping(p, &first, 0x1500));
	CHECK(!query_mapping(p, &second, 0x1500));
	partial_free(p);
}

/* A checkpoint of it, and what was told before: the same as of the whole. */
static struct partial *on_checkpoint(struct partial *before, struct partial *behind, bool follows)
{
	struct bytes bytes = {0};
	struct partial *checkpoint;

	CHECK_EQ(checkpoint_write(behind, &bytes), 0);
	partial_free(behind);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	if (follows)
		CHECK_EQ(checkpoint_follow(checkpoint, 2000, 4000), 0);
	CHECK_EQ(partial_merge(before, checkpoint), 0);
	return finished(before);
}

/* Chunks, and the checkpoint of a recording that began after them. */
TEST(a_checkpoint_tells_since_when_a_number_is_of_another)
{
	static const struct partial_options state = {.state_only = true};
	struct partial *before = partial_new(NULL), *behind = partial_new(&state);

	found(before, 1100, 500, "first", 0);
	serves(before, 1200, "shop");
	partial_cover(before, 1000, 2000);
	forked(behind, 3100, 3099, "second");
	renamed(behind, 3200, "renamed"); /* the last name alone is kept */
	partial_cover(behind, 3000, 4000);
	before = on_checkpoint(before, behind, true);
	CHECK_STR(query_comm(before, 5, 4000), "renamed");
	CHECK_EQ(query_held_until(before, 5, 1100), 3098);
	CHECK_STR(query_comm(before, 5, query_held_until(before, 5, 1100)), "first");
	CHECK_STR(query_resource(before, 5, 4000, "service.name"), NULL);
	partial_free(before);
}

/* The gap lies in what was deleted. */
TEST(a_checkpoint_keeps_nothing_of_who_had_a_number_before)
{
	static const struct partial_options state = {.state_only = true};
	struct partial *deleted = partial_new(&state), *p;

	container(deleted, 10);
	found(deleted, 1100, 500, "first", 10);
	serves(deleted, 1200, "shop");
	gap(deleted, 2000, 3000);
	found(deleted, 3100, 2500, "second", 11);
	partial_cover(deleted, 1000, 4000);
	p = on_checkpoint(partial_new(NULL), deleted, false);
	CHECK_STR(query_comm(p, 5, 4000), "second");
	CHECK_STR(query_executable(p, 5, 4000), "/bin/second");
	CHECK_STR(query_resource(p, 5, 4000, "service.name"), NULL);
	CHECK_STR(query_container(p, 5, 4000), NULL);
	partial_free(p);
}

/* What is done before the snapshot reaches it is of the one that the snapshot tells. */
TEST(an_exec_before_the_snapshot_is_of_the_new_one)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	serves(p, 1200, "shop");
	gap(p, 2000, 3000);
	executed(p, 3050, 0, 2500, "second");
	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK_EQ(query_held_until(p, 5, 1000), 2499);
	CHECK_STR(query_comm(p, 5, query_held_until(p, 5, 1000)), "first");
	CHECK_STR(query_resource(p, 5, 3200, "service.name"), NULL);
	partial_free(p);
}

TEST(a_rename_before_the_snapshot_is_of_the_new_one)
{
	struct partial *p = partial_new(NULL);

	found(p, 1100, 500, "first", 0);
	serves(p, 1200, "shop");
	gap(p, 2000, 3000);
	renamed(p, 3050, "worker");
	found(p, 3100, 2500, "worker", 0);
	finished(p);
	CHECK_EQ(query_held_until(p, 5, 1000), 2499);
	CHECK_STR(query_comm(p, 5, query_held_until(p, 5, 1000)), "first");
	CHECK_STR(query_resource(p, 5, 3200, "service.name"), NULL);
	CHECK_STR(query_executable(p, 5, 3050), "/bin/worker");
	partial_free(p);
}

/* The kernel gives who executes from beside the leader the leader's start time. */
TEST(who_executes_from_beside_the_leader_is_found_again)
{
	struct partial *p = partial_new(NULL);
	struct record_fork fork = {
		.head = {.kind = RECORD_fork, .time_ns = 1501, .tid = 6, .pid = 5},
		.parent_tid = 5,
		.parent_pid = 5,
		.start_ns = 1500};
	struct record_exec exec = {.head = head(RECORD_exec, 1600), .old_tid = 6, .start_ns = 900};
	int lasted = 0;

	found(p, 1100, 900, "prog", 0);
	apply(p, &fork);
	exec.command_len = (u16)(snprintf(exec.command, sizeof(exec.command), "next") + 1);
	apply(p, &exec);
	gap(p, 2000, 3000);
	found(p, 3100, 900, "next", 0);
	finished(p);
	for (size_t i = 0; i < p->lives.count; i++) {
		CHECK(!p->lives.data[i]->severed);
		lasted += p->lives.data[i]->renamed_ns && p->lives.data[i]->last_ns >= 3100;
	}
	CHECK_EQ(lasted, 1);
	partial_free(p);
}

/* Its end was seen, before the gap in which its number went to another one. */
TEST(a_span_ends_with_who_had_the_number_before)
{
	struct partial *p = partial_new(NULL);
	struct record_switch in = {.head = {.kind = RECORD_switch, .time_ns = 1200}, .next_tid = 5};
	struct record_span_begin begin = {.head = head(RECORD_span_begin, 1300),
					  .ctx = {.trace = {1}, .span = {2}}};
	struct record_exit exits = {.head = head(RECORD_exit, 1690)};
	struct record_switch dead = {
		.head = head(RECORD_switch, 1700), .state = LEAVE_dead, .mode = MODE_exit};
	struct span_time time;

	found(p, 1100, 500, "first", 0);
	apply(p, &in);
	apply(p, &begin);
	apply(p, &exits);
	apply(p, &dead);
	gap(p, 2000, 3000);
	found(p, 3100, 2500, "second", 0);
	finished(p);
	CHECK_EQ(span_times(p, &time), 0);
	CHECK_EQ(time.begin_ns, 1300);
	CHECK_EQ(time.end_ns, 1700);
	partial_free(p);
}

TEST_MAIN()
