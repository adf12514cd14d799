/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of fact is added, merged, sorted and archived by its row of FACT_KINDS. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "map/checkpoint/archive.h"
#include "map/fact/facts.h"

#define PATH "/etc/hosts"
#define CGROUP "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct record_head head(u16 kind, u64 time_ns)
{
	return (struct record_head){.kind = kind, .tid = 7, .pid = 7, .time_ns = time_ns};
}

static void add(struct facts *f, const void *record)
{
	CHECK_EQ(facts_add(f, record), 0);
}

static void add_threads(struct facts *f, u64 at_ns)
{
	struct record_fork fork = {.head = head(RECORD_fork, at_ns), .start_ns = at_ns};
	struct record_exec exec = {.head = head(RECORD_exec, at_ns + 1)};
	struct record_process process = {.head = head(RECORD_process, at_ns + 2), .cgroup = 5};
	struct record_cgroup cgroup = {
		.head = head(RECORD_cgroup, at_ns), .id = 5, .path_len = sizeof(CGROUP) - 1};
	struct record_service service = {.head = head(RECORD_service, at_ns)};
	struct record_filter filter = {.head = head(RECORD_filter, at_ns), .flags = FILTER_FOLLOWS};
	struct record_clock clock = {.head = head(RECORD_clock, at_ns), .realtime_ns = 77};

	memcpy(cgroup.path, CGROUP, sizeof(CGROUP));
	add(f, &fork);
	add(f, &exec);
	add(f, &process);
	add(f, &cgroup);
	add(f, &service);
	add(f, &filter);
	add(f, &clock);
}

static void add_files(struct facts *f, u64 at_ns)
{
	struct record_fd fd = {.head = head(RECORD_fd, at_ns), .fd = 3, .from = -1, .op = FD_open};
	struct record_socket socket = {.head = head(RECORD_socket, at_ns), .file = {.key = 9}};
	struct record_stack stack = {.head = head(RECORD_stack, at_ns), .frames_len = 16};
	struct record_mapping mapping = {.head = head(RECORD_mapping, at_ns), .end = 4096};
	struct record_bytes bytes = {.head = head(RECORD_bytes, at_ns), .length = 4};
	struct record_path path = {.head = head(RECORD_path, at_ns), .call_ns = at_ns - 1};

	fd.path_len = path.path_len = sizeof(PATH) - 1;
	memcpy(fd.path, PATH, sizeof(PATH));
	memcpy(path.path, PATH, sizeof(PATH));
	add(f, &fd);
	add(f, &socket);
	add(f, &stack);
	add(f, &mapping);
	add(f, &bytes);
	add(f, &path);
}

static void add_all(struct facts *f, u64 at_ns)
{
	add_threads(f, at_ns);
	add_files(f, at_ns);
}

/* The records of add_all() make one fact of each kind, but three names and two processes. */
static void check_counts(const struct facts *f, size_t times, size_t of_calls)
{
	size_t names = 3, processes = 2;

	CHECK_EQ(f->fds.count, times);
	CHECK_EQ(f->sockets.count, times);
	CHECK_EQ(f->stacks.count, times);
	CHECK_EQ(f->mappings.count, times);
	CHECK_EQ(f->moves.count, times);
	CHECK_EQ(f->cgroups.count, times);
	CHECK_EQ(f->follows.count, times);
	CHECK_EQ(f->names.count, names * times);
	CHECK_EQ(f->processes.count, processes * times);
	CHECK_EQ(f->forks.count, times);
	CHECK_EQ(f->services.count, times);
	CHECK_EQ(f->clocks.count, of_calls);
	CHECK_EQ(f->bytes.count, of_calls);
	CHECK_EQ(f->paths.count, of_calls);
}

TEST(each_kind_is_added_and_merged)
{
	struct facts left = {0}, right = {0};

	add_all(&left, 100);
	check_counts(&left, 1, 1);
	add_all(&right, 200);
	CHECK_EQ(facts_merge(&left, &right), 0);
	check_counts(&left, 2, 2);
	check_counts(&right, 0, 0);
	facts_free(&left);
	facts_free(&right);
}

/* What was read is written as the same bytes. */
static void archive_check(struct facts *f, bool kept)
{
	struct bytes first = {0}, second = {0};
	struct facts read = {0};
	struct archive out = {.out = &first}, in, again = {.out = &second};

	facts_archive(&out, f, kept);
	CHECK_EQ(out.err, 0);
	in = (struct archive){.in = bytes_reader_over(first.data, first.count),
			      .texts = &read.texts};
	facts_archive(&in, &read, kept);
	CHECK_EQ(in.err, 0);
	CHECK(in.in.at == in.in.end);
	check_counts(&read, 2, kept ? 0 : 2);
	facts_archive(&again, &read, kept);
	CHECK_EQ(second.count, first.count);
	CHECK(memcmp(first.data, second.data, first.count) == 0);
	bytes_free(&first);
	bytes_free(&second);
	facts_free(&read);
}

TEST(each_kind_is_archived)
{
	struct facts f = {0};

	add_all(&f, 200);
	add_all(&f, 100);
	archive_check(&f, false);
	archive_check(&f, true); /* a checkpoint has no clocks, bytes and paths */
	facts_free(&f);
}

TEST(an_archive_that_ends_early_is_refused)
{
	struct facts f = {0};
	struct bytes whole = {0};
	struct archive out = {.out = &whole};

	add_all(&f, 100);
	facts_archive(&out, &f, false);
	for (size_t bytes = 0; bytes < whole.count; bytes++) {
		struct facts read = {0};
		struct archive in = {.in = bytes_reader_over(whole.data, bytes),
				     .texts = &read.texts};

		facts_archive(&in, &read, false);
		CHECK_EQ(in.err, -EBADMSG);
		facts_free(&read);
	}
	bytes_free(&whole);
	facts_free(&f);
}

TEST(sorted_facts_stand_in_the_order_of_time)
{
	struct facts f = {0};

	add_all(&f, 200);
	add_all(&f, 100);
	CHECK_EQ(facts_sort(&f), 0);
	CHECK_EQ(f.fds.data[0].time_ns, 100);
	CHECK_EQ(f.sockets.data[0].time_ns, 100);
	CHECK_EQ(f.stacks.data[0].time_ns, 100);
	CHECK_EQ(f.mappings.data[0].since_ns, 0);
	CHECK_EQ(f.moves.data[0].time_ns, 102);
	CHECK_EQ(f.follows.data[0].time_ns, 100);
	CHECK_EQ(f.names.data[0].time_ns, 100);
	CHECK_EQ(f.processes.data[0].time_ns, 101);
	CHECK_EQ(f.forks.data[0].time_ns, 100);
	CHECK_EQ(f.services.data[0].time_ns, 100);
	CHECK_EQ(f.clocks.data[0].monotonic_ns, 100);
	CHECK_EQ(f.cgroups.count, 1); /* the same cgroup, told twice */
	facts_free(&f);
}

TEST_MAIN()
