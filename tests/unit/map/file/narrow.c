/* SPDX-License-Identifier: Apache-2.0 */
/* What requests of a few processes need of a partial, and nothing else. */
#include "map/file/narrow.h"

#include <string.h>

#include "apply.h"
#include "map/file/whole.h"

#define TALKER 5 /* pid and tid */
#define OTHER 6

static struct record_head head_of(u8 kind, u64 time_ns, u32 tid)
{
	return (struct record_head){.kind = kind, .time_ns = time_ns, .tid = tid, .pid = tid};
}

/* A thread with calls of 2 us under a context. The first ones settle it. */
static void calls(struct partial *p, u32 tid, u64 time_ns)
{
	struct record_syscall call = {.head = head_of(RECORD_syscall, time_ns, tid),
				      .duration_ns = 2000,
				      .ctx = {{1}, {0, 0, 0, 0, 0, 0, 0, 1}}};
	const struct record_thread thread = {.head = head_of(RECORD_thread, time_ns - 3000, tid),
					     .start_ns = 1,
					     .comm_len = 4,
					     .comm = "prog"};

	apply(p, &thread);
	for (int i = 0; i < 4; i++, call.head.time_ns += 3000)
		apply(p, &call);
}

static struct partial *partial_of_two(void)
{
	const struct partial_options options = {.spans = true};
	struct partial *p = partial_new(&options);
	const struct record_bytes bytes = {.head = head_of(RECORD_bytes, 50000, TALKER),
					   .length = 10,
					   .file = {.key = 9, .kind = FILE_KIND_tcp}};

	CHECK(p != NULL);
	partial_cover(p, 1, 100000);
	calls(p, TALKER, 10000);
	calls(p, OTHER, 25000);
	apply(p, &bytes);
	return p;
}

static struct bytes written(struct partial *p)
{
	struct bytes bytes = {0};

	CHECK_EQ(partial_write(p, &bytes), 0);
	return bytes;
}

static struct partial *narrowed(struct partial *p, u32 pid, size_t *bytes_count)
{
	const struct partial_options options = {.spans = true};
	struct map pids = {0};
	struct bytes bytes = {0};
	struct partial *narrow;

	CHECK_EQ(map_put(&pids, pid, PRESENT), 0);
	CHECK_EQ(partial_write_narrow(p, &pids, true, &bytes), 0);
	CHECK_EQ(partial_read(&narrow, bytes.data, bytes.count, &options), 0);
	*bytes_count = bytes.count;
	bytes_free(&bytes);
	map_free(&pids);
	return narrow;
}

TEST(it_has_the_kernel_spans_of_the_processes_and_no_sums)
{
	struct partial *p = partial_of_two(), *narrow;
	struct kspan k;
	size_t count, all;

	all = kspans_count(&p->kspans);
	CHECK(all >= 2);
	narrow = narrowed(p, TALKER, &count);
	CHECK_EQ(kspans_count(&narrow->kspans), all / 2);
	kspans_get(&narrow->kspans, 0, &k);
	CHECK_EQ(k.tid, TALKER);
	CHECK_EQ(k.end_ns - k.begin_ns, 2000);
	CHECK(context_is_none(&k.ctx));
	CHECK(p->calls.list.count > 0);
	CHECK_EQ(narrow->calls.list.count, 0);
	partial_free(narrow);
	narrow = narrowed(p, 7, &count);
	CHECK_EQ(kspans_count(&narrow->kspans), 0);
	partial_free(narrow);
	partial_free(p);
}

TEST(it_has_all_threads_names_and_bytes)
{
	struct partial *p = partial_of_two(), *narrow;
	struct bytes whole = written(p);
	size_t count;

	narrow = narrowed(p, TALKER, &count);
	CHECK(count < whole.count);
	CHECK_EQ(narrow->lives.count, p->lives.count);
	CHECK_EQ(narrow->facts.names.count, p->facts.names.count);
	CHECK_EQ(narrow->facts.bytes.count, 1);
	CHECK_EQ(narrow->from_ns, p->from_ns);
	CHECK_EQ(narrow->to_ns, p->to_ns);
	bytes_free(&whole);
	partial_free(narrow);
	partial_free(p);
}

TEST(the_partial_is_as_it_was)
{
	struct partial *p = partial_of_two();
	struct bytes before = written(p), after;
	size_t count;

	partial_free(narrowed(p, TALKER, &count));
	after = written(p);
	CHECK_EQ(before.count, after.count);
	CHECK(memcmp(before.data, after.data, before.count) == 0);
	bytes_free(&before);
	bytes_free(&after);
	partial_free(p);
}

TEST_MAIN()
