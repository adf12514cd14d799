/* SPDX-License-Identifier: Apache-2.0 */
/* What a checkpoint keeps of threads, processes, files and cgroups, and what it lets go. */
#include <stdio.h>
#include <string.h>

#include "map/fact/query.h"
#include "records.h"

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

static void cgroup(struct partial *p, u32 hierarchy, u64 id)
{
	struct record_cgroup r = {
		.head = {.kind = RECORD_cgroup, .time_ns = 1}, .hierarchy = hierarchy, .id = id};

	r.path_len = (u16)snprintf(r.path, sizeof(r.path), "/docker/" CONTAINER "%04u",
				   (unsigned int)(id % 10000));
	apply(p, &r);
}

static void attached(struct partial *p, u64 time_ns, u32 hierarchy, u64 id)
{
	struct record_cgroup_attach r = {
		.head = {.kind = RECORD_cgroup_attach, .tid = 7, .pid = 7, .time_ns = time_ns},
		.hierarchy = hierarchy,
		.cgroup = id};

	apply(p, &r);
}

TEST(cgroups_that_nobody_is_in_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state), *rest = partial_new(NULL);
	struct bytes bytes = {0};

	cgroup(checkpoint, 3, 5);
	for (u64 id = 10; id < 5010; id++)
		cgroup(checkpoint, 0, id);
	lives(checkpoint, 1000);
	attached(checkpoint, 1100, 0, 1234);
	partial_cover(checkpoint, 1, 2000);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	/* the one that it is in, the newest of its hierarchy, and those of another */
	CHECK_EQ(checkpoint->facts.cgroups.count, 1 + 1024 + 1);
	attached(rest, 3000, 0, 5009);
	attached(rest, 5000, 3, 5);
	attached(rest, 5000, 0, 1);
	attached(rest, 7000, 0, 12);
	partial_cover(rest, 2000, 9000);
	CHECK_EQ(partial_merge(checkpoint, rest), 0);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_STR(query_container(checkpoint, 7, 2500), CONTAINER "1234");
	CHECK_STR(query_container(checkpoint, 7, 4000), CONTAINER "5009");
	CHECK_STR(query_container(checkpoint, 7, 6000), CONTAINER "0005");
	partial_free(checkpoint);
}

/* Lives of one number stand in their order. */
TEST(a_checkpoint_keeps_when_a_thread_was_seen_first)
{
	struct partial *checkpoint = partial_new(&state);
	struct bytes bytes = {0};

	lives(checkpoint, 1000);
	partial_cover(checkpoint, 1, 2000);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_EQ(checkpoint->lives.data[0]->first_ns, 1000);
	partial_free(checkpoint);
}

/* It left its CPU once in a call that does not return, got it again, and began to end. */
static void ends_in_a_call(struct partial *p)
{
	struct record_switch sw = {
		.head = {.kind = RECORD_switch, .tid = 7, .pid = 7, .time_ns = 1200},
		.state = LEAVE_preempted,
		.mode = MODE_syscall,
		.since_ns = 100};
	struct record_exit exit = {
		.head = {.kind = RECORD_exit, .tid = 7, .pid = 7, .time_ns = 1300}};

	lives(p, 1000);
	apply(p, &sw);
	sw = (struct record_switch){.head = {.kind = RECORD_switch, .time_ns = 1300},
				    .next_tid = 7};
	apply(p, &sw);
	apply(p, &exit);
}

static void loses(struct partial *p, u64 begin_ns, u64 end_ns)
{
	struct record_lost r = {
		.head = {.kind = RECORD_lost, .time_ns = end_ns}, .count = 1, .begin_ns = begin_ns};

	apply(p, &r);
}

/* The loss has its end: that it was in the call until it ended is known all the same. */
TEST(a_checkpoint_of_one_whose_end_is_lost_leaves_it_in_its_call)
{
	struct partial *checkpoint = partial_new(&state), *whole = partial_new(NULL);
	struct bytes bytes = {0};

	ends_in_a_call(whole);
	loses(whole, 1500, 3000);
	partial_cover(whole, 1, 4000);
	CHECK_EQ(partial_finish(whole), 0);
	CHECK_EQ(whole->calls.list.count, 2);

	ends_in_a_call(checkpoint);
	loses(checkpoint, 1500, 2000);
	partial_cover(checkpoint, 1, 2000);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	loses(checkpoint, 2000, 3000);
	partial_cover(checkpoint, 2000, 4000);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_EQ(checkpoint->calls.list.count, 1);
	CHECK_EQ(checkpoint->calls.list.data[0].count, 1);
	partial_free(checkpoint);
	partial_free(whole);
}

/* Thread 8 is a new process. */
static void forks(struct partial *p, u64 time_ns)
{
	struct record_fork r = {
		.head = {.kind = RECORD_fork, .time_ns = time_ns, .tid = 8, .pid = 8},
		.parent_tid = 7,
		.parent_pid = 7};

	apply(p, &r);
}

/* While records may still come for its last time, nothing is folded that they may ask for. */
TEST(a_checkpoint_with_an_open_end_keeps_forks)
{
	struct partial *checkpoint = partial_new(&state), *rest = partial_new(NULL);
	struct bytes bytes = {0};

	partial_streams(checkpoint, 1, 5000);
	cgroup(checkpoint, 0, 10);
	cgroup(checkpoint, 0, 11);
	lives(checkpoint, 1000);
	attached(checkpoint, 1100, 0, 10);
	attached(checkpoint, 4000, 0, 11);
	forks(checkpoint, 4500);
	partial_cover(checkpoint, 1, 9000);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, NULL), 0);
	bytes_free(&bytes);
	partial_late(rest, 5000, 9000);
	attached(rest, 8000, 0, 10); /* late */
	partial_cover(rest, 9000, 12000);
	CHECK_EQ(partial_merge(checkpoint, rest), 0);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_STR(query_container(checkpoint, 7, 7000), CONTAINER "0011");
	CHECK_STR(query_container(checkpoint, 7, 10000), CONTAINER "0010");
	CHECK_STR(query_container(checkpoint, 8, 10000), CONTAINER "0011");
	partial_free(checkpoint);
}

static void executes(struct partial *p, u64 time_ns)
{
	struct record_exec r = {
		.head = {.kind = RECORD_exec, .time_ns = time_ns, .tid = 7, .pid = 7},
		.old_tid = 7,
		.command_len = 16,
		.command = "server\0/bin/srv"};

	apply(p, &r);
}

/* The checkpoint of it, which goes into the next one. */
static struct partial *checkpoint_at(struct partial *checkpoint, u64 at_ns)
{
	struct bytes bytes = {0};

	partial_cover(checkpoint, 1, at_ns);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, &state), 0);
	bytes_free(&bytes);
	return checkpoint;
}

/* A worker was made by one that executed before. */
TEST(a_checkpoint_keeps_what_one_executes_that_only_forked)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 1000);
	executes(checkpoint, 1100);
	forks(checkpoint, 1200);
	for (int i = 0; i < 2; i++) /* the checkpoint of a checkpoint, too */
		checkpoint = checkpoint_at(checkpoint, 2000);
	CHECK_EQ(checkpoint->facts.processes.count, 2);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_STR(query_executable(checkpoint, 7, 2500), "/bin/srv");
	CHECK_STR(query_executable(checkpoint, 8, 2500), "/bin/srv");
	CHECK_STR(query_executable(checkpoint, 9, 2500), NULL);
	partial_free(checkpoint);
}

static void named(struct partial *p, u64 time_ns, u32 tid, const char *name)
{
	struct record_name r = {
		.head = {.kind = RECORD_name, .tid = tid, .pid = tid, .time_ns = time_ns}};

	r.comm_len = (u8)snprintf(r.comm, sizeof(r.comm), "%s", name);
	apply(p, &r);
}

/* What a checkpoint of it leaves, finished. */
static struct partial *left_of(struct partial *checkpoint)
{
	checkpoint = checkpoint_at(checkpoint, 2000);
	CHECK_EQ(partial_finish(checkpoint), 0);
	return checkpoint;
}

/* A thread that began and ended here, under a name that it told. */
static void lived(struct partial *p, u64 time_ns, u32 tid, const char *name)
{
	struct record_fork fork = {
		.head = {.kind = RECORD_fork, .time_ns = time_ns, .tid = tid, .pid = tid}};
	struct record_switch dies = {
		.head = {.kind = RECORD_switch, .time_ns = time_ns + 2, .tid = tid, .pid = tid},
		.state = LEAVE_dead};

	apply(p, &fork);
	named(p, time_ns + 1, tid, name);
	apply(p, &dies);
}

/* The CPU rests so often that nobody's turn before is among the last ones, which keep names, too.
 */
static void rests(struct partial *p, u64 time_ns)
{
	struct record_switch r = {.head = {.kind = RECORD_switch, .time_ns = time_ns}};

	for (int i = 0; i <= TURNS_MAX; i++)
		apply(p, &r);
}

static void woken_by(struct partial *p, u64 time_ns, u32 waker)
{
	struct record_waking wakes = {
		.head = {.kind = RECORD_waking, .tid = 7, .pid = 7, .time_ns = time_ns},
		.waker_tid = waker};

	apply(p, &wakes);
}

/* It ended, but the wait that it ended will be told. */
TEST(a_checkpoint_keeps_the_name_of_who_woke_one_that_still_waits)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 1000);
	sleeps(checkpoint, 1200);
	lived(checkpoint, 1250, 20, "waker");
	lived(checkpoint, 1250, 21, "other");
	rests(checkpoint, 1252);
	woken_by(checkpoint, 1253, 20);
	checkpoint = left_of(checkpoint);
	CHECK_STR(query_comm(checkpoint, 20, 1300), "waker");
	CHECK_STR(query_comm(checkpoint, 21, 1300), NULL);
	partial_free(checkpoint);
}

/* Out of scope nothing but the name is told, and that once. */
TEST(a_checkpoint_keeps_names_of_threads_that_have_no_life)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 1000);
	lived(checkpoint, 1010, 22, "had this number");
	named(checkpoint, 1100, 20, "before");
	named(checkpoint, 1100, 22, "then another");
	sleeps(checkpoint, 1200);
	woken_by(checkpoint, 1250, 20);
	named(checkpoint, 1300, 20, "later");
	named(checkpoint, 1300, 21, "other");
	checkpoint = left_of(checkpoint);
	CHECK_STR(query_comm(checkpoint, 20, 1250), "before"); /* the wait goes on */
	CHECK_STR(query_comm(checkpoint, 20, 2500), "later");
	CHECK_STR(query_comm(checkpoint, 21, 2500), "other");
	CHECK_STR(query_comm(checkpoint, 22, 2500), "then another");
	partial_free(checkpoint);
}

static void maps(struct partial *p, u64 time_ns, u32 pid, u64 begin)
{
	struct record_mapping m = {
		.head = {.kind = RECORD_mapping, .tid = pid, .pid = pid, .time_ns = time_ns},
		.since_ns = time_ns,
		.begin = begin,
		.end = begin + 0x1000,
		.path_len = 3,
		.path = "/so"};

	apply(p, &m);
}

static void found(struct partial *p, u64 time_ns, u32 pid)
{
	struct record_process r = {
		.head = {.kind = RECORD_process, .tid = pid, .pid = pid, .time_ns = time_ns},
		.command_len = 4,
		.command = "srv"};

	apply(p, &r);
	maps(p, time_ns, pid, 0x1000);
}

/* It is told with the process. */
TEST(a_checkpoint_keeps_the_container_of_one_whose_threads_are_not_told_yet)
{
	struct partial *checkpoint = partial_new(&state);
	struct record_process r = {
		.head = {.kind = RECORD_process, .tid = 20, .pid = 20, .time_ns = 1000},
		.cgroup = 1234};

	cgroup(checkpoint, 0, 1234);
	apply(checkpoint, &r);
	checkpoint = checkpoint_at(checkpoint, 2000);
	checkpoint = left_of(checkpoint);
	CHECK_STR(query_container(checkpoint, 20, 2500), CONTAINER "1234");
	partial_free(checkpoint);
}

/* A chunk, or the first of a snapshot, may tell of a process before its threads. */
TEST(a_checkpoint_keeps_processes_whose_threads_are_not_told_yet)
{
	struct partial *checkpoint = partial_new(&state);
	struct fact_stack in = {.flags = STACK_USER, .time_ns = 2500};

	found(checkpoint, 1000, 20);
	found(checkpoint, 1000, 21);
	lived(checkpoint, 1010, 21, "went");
	rests(checkpoint, 1012);
	checkpoint = left_of(checkpoint);
	CHECK_STR(query_comm(checkpoint, 20, 2500), "srv");
	CHECK_STR(query_comm(checkpoint, 21, 2500), NULL);
	in.pid = 20;
	CHECK(query_mapping(checkpoint, &in, 0x1500));
	in.pid = 21;
	CHECK(!query_mapping(checkpoint, &in, 0x1500));
	partial_free(checkpoint);
}

TEST(processes_whose_threads_never_come_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 500);
	found(checkpoint, 600, 7);
	for (u32 i = 0; i < 10000; i++)
		found(checkpoint, 1000 + i, 100000 + i);
	checkpoint = checkpoint_at(checkpoint, 20000);
	CHECK_EQ(checkpoint->facts.processes.count, 4096 / 2 + 1);
	CHECK_EQ(checkpoint->facts.mappings.count, 4096 / 2 + 1);
	checkpoint = checkpoint_at(checkpoint, 5000000000 + 11000);
	CHECK_EQ(checkpoint->facts.processes.count, 1);
	CHECK_EQ(checkpoint->facts.mappings.count, 1);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK_STR(query_process(checkpoint, 7, 2000)->command, "srv");
	partial_free(checkpoint);
}

TEST(processes_of_one_time_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state);

	for (u32 i = 0; i < 5000; i++)
		found(checkpoint, 1000, 20 + i);
	checkpoint = left_of(checkpoint);
	CHECK(checkpoint->facts.processes.count <= 4096);
	CHECK(checkpoint->facts.mappings.count <= 4096);
	CHECK(checkpoint->facts.names.count <= 4096);
	partial_free(checkpoint);
}

/* Nothing tells that it is gone, but where a thread waits it is there. */
TEST(mappings_of_a_process_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state);
	struct fact_stack in = {.flags = STACK_USER, .time_ns = 20000, .pid = 7};
	struct record_stack waits = {
		.head = {.kind = RECORD_stack, .tid = 7, .pid = 7, .time_ns = 700},
		.flags = STACK_USER,
		.since_ns = 690,
		.frames_len = 8};
	u64 address = 0x1100;

	memcpy(waits.frames, &address, sizeof(address));
	lives(checkpoint, 500);
	maps(checkpoint, 600, 7, 0x1000);
	maps(checkpoint, 600, 7, 0x3000);
	apply(checkpoint, &waits);
	for (u32 i = 0; i < 10000; i++)
		maps(checkpoint, 1000 + i, 7, 0x10000 + 0x1000 * (u64)i);
	checkpoint = checkpoint_at(checkpoint, 12000);
	CHECK_EQ(checkpoint->facts.mappings.count, 4096 + 1);
	CHECK_EQ(partial_finish(checkpoint), 0);
	CHECK(query_mapping(checkpoint, &in, 0x1200));
	CHECK(!query_mapping(checkpoint, &in, 0x3200));
	CHECK(query_mapping(checkpoint, &in, 0x10000 + 0x1000 * 9999));
	CHECK(query_mapping(checkpoint, &in, 0x10000 + 0x1000 * (10000 - 4096)));
	CHECK(!query_mapping(checkpoint, &in, 0x10000 + 0x1000 * (10000 - 4097)));
	partial_free(checkpoint);
}

/* A chunk may tell what lay in the memory of one that ended in an earlier one. */
TEST(mappings_of_ended_processes_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 500);
	lived(checkpoint, 1000, 20, "went");
	checkpoint = checkpoint_at(checkpoint, 2000);
	found(checkpoint, 1001, 20);
	checkpoint = checkpoint_at(checkpoint, 3000);
	checkpoint = checkpoint_at(checkpoint, 20000000000);
	CHECK_EQ(checkpoint->facts.mappings.count, 0);
	partial_free(checkpoint);
}

TEST(names_of_threads_that_have_no_life_do_not_make_it_grow)
{
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 500);
	named(checkpoint, 600, 7, "lives");
	for (u32 i = 0; i < 10000; i++)
		named(checkpoint, 1000 + i, 100000 + i, "told");
	checkpoint = left_of(checkpoint);
	CHECK_EQ(checkpoint->facts.names.count, 4096 + 1);
	CHECK_STR(query_comm(checkpoint, 7, 2000), "lives");
	CHECK_STR(query_comm(checkpoint, 100000 + 10000 - 4096, 2000), "told");
	CHECK_STR(query_comm(checkpoint, 100000 + 10000 - 4097, 2000), NULL);
	partial_free(checkpoint);
}

/* A file that only a slot of an io_uring has: no descriptor ever names it. */
static void in_slot(struct partial *p, u64 time_ns, u32 pid, struct file_ref file, const char *name)
{
	struct record_fd r = {
		.head = {.kind = RECORD_fd, .tid = pid, .pid = pid, .time_ns = time_ns},
		.fd = -1,
		.from = -1,
		.op = FD_open,
		.file = file};

	r.path_len = (u16)snprintf(r.path, sizeof(r.path), "%s", name);
	apply(p, &r);
}

static const char *path_of(const struct partial *p, u64 key, u32 dev, u64 time_ns)
{
	const struct file_ref file = {.key = key, .dev = dev, .kind = FILE_KIND_regular};

	return query_file_path(p, 7, &file, time_ns);
}

TEST(a_checkpoint_keeps_files_of_slots)
{
	struct file_ref file = {.key = 10, .dev = 1, .kind = FILE_KIND_regular};
	struct record_socket socket = {
		.head = {.kind = RECORD_socket, .tid = 7, .pid = 7, .time_ns = 1200},
		.file = {.key = 40, .kind = FILE_KIND_tcp},
		.remote_port = 80};
	struct partial *checkpoint = partial_new(&state);
	struct bytes bytes = {0};

	lives(checkpoint, 1000);
	in_slot(checkpoint, 1100, 7, file, "/before");
	in_slot(checkpoint, 1110, 7, file, "/first");
	file.dev = 2;
	in_slot(checkpoint, 1120, 7, file, "/second");
	file.key = 20;
	in_slot(checkpoint, 1130, 8, file, "/of one that ended");
	in_slot(checkpoint, 1140, 7, socket.file, "socket:[40]");
	apply(checkpoint, &socket);
	partial_cover(checkpoint, 1, 1500);
	CHECK_EQ(checkpoint_write(checkpoint, &bytes), 0);
	partial_free(checkpoint);
	CHECK_EQ(checkpoint_read(&checkpoint, bytes.data, bytes.count, &state), 0);
	bytes_free(&bytes);
	/* and what a checkpoint has goes into the next */
	checkpoint = left_of(checkpoint);
	CHECK_STR(path_of(checkpoint, 10, 1, 2500), "/first");
	CHECK_STR(path_of(checkpoint, 10, 2, 2500), "/second");
	CHECK_STR(path_of(checkpoint, 20, 2, 2500), NULL);
	CHECK_EQ(checkpoint->facts.fds.count, 3);
	CHECK(query_socket(checkpoint, 40, 2500) != NULL);
	partial_free(checkpoint);
}

TEST(files_of_slots_do_not_make_it_grow)
{
	struct file_ref file = {.dev = 1, .kind = FILE_KIND_regular};
	struct partial *checkpoint = partial_new(&state);

	lives(checkpoint, 500);
	for (file.key = 1; file.key <= 10000; file.key++)
		in_slot(checkpoint, 1000 + file.key, 7, file, "/file");
	checkpoint = left_of(checkpoint);
	CHECK_EQ(checkpoint->facts.fds.count, 4096);
	CHECK_STR(path_of(checkpoint, 10000, 1, 2000), "/file");
	CHECK_STR(path_of(checkpoint, 10000 - 4096, 1, 2000), NULL);
	partial_free(checkpoint);
}

/* Thread 30 of process 7 runs a program: it is thread 7 then. */
TEST(a_checkpoint_keeps_the_name_that_a_thread_had_under_another_number)
{
	struct partial *checkpoint = partial_new(&state);
	struct record_fork fork = {
		.head = {.kind = RECORD_fork, .time_ns = 1100, .tid = 30, .pid = 7},
		.parent_tid = 7,
		.parent_pid = 7,
		.flags = THREAD_IS_THREAD};
	struct record_exec exec = {
		.head = {.kind = RECORD_exec, .time_ns = 1300, .tid = 7, .pid = 7}, .old_tid = 30};

	lives(checkpoint, 1000);
	apply(checkpoint, &fork);
	named(checkpoint, 1200, 30, "worker");
	lived(checkpoint, 1200, 31, "other");
	rests(checkpoint, 1202);
	apply(checkpoint, &exec);
	checkpoint = left_of(checkpoint);
	CHECK_STR(query_comm(checkpoint, 30, 1250), "worker");
	CHECK_STR(query_comm(checkpoint, 31, 1250), NULL);
	partial_free(checkpoint);
}

TEST_MAIN()
