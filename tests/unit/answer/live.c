/* SPDX-License-Identifier: Apache-2.0 */
/* Live views: several groupings of the same short time. */
#include "answer/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"

/* Threads 7 and 8 call and sleep; the recording has a name for 7 only. */
static struct source source_make(void)
{
	struct source source = {.partial = partial_new(NULL), .from_ns = 500, .to_ns = 5000};
	struct record_name name = {
		.head = {.kind = RECORD_name, .tid = 7, .pid = 7, .time_ns = 600},
		.comm_len = 5,
		.comm = "seven"};

	CHECK_EQ(partial_apply(source.partial, &name.head), 0);
	for (u32 tid = 7; tid < 9; tid++) {
		struct record_syscall call = {
			.head = {.kind = RECORD_syscall, .tid = tid, .pid = tid, .time_ns = 2000},
			.duration_ns = 100};

		CHECK_EQ(partial_apply(source.partial, &call.head), 0);
	}
	partial_cover(source.partial, 500, 5000);
	CHECK_EQ(partial_finish(source.partial), 0);
	return source;
}

/* Makes a name of the numbers, and counts how often it is asked. */
static bool name_find(void *arg, uint32_t pid, uint32_t tid, char name[32])
{
	++*(int *)arg;
	snprintf(name, 32, "own-%u-%u", pid, tid);
	return true;
}

static int part_add(struct live_rows *rows, const struct source *source, const char *by,
		    const char *sort, const struct live_names *names)
{
	const struct live_choice choice = {.by = by, .sort = sort};

	return live_rows_add(rows, source, &choice, names);
}

TEST(the_caller_names_what_the_recording_does_not)
{
	struct source source = source_make();
	struct live_rows rows = {0};
	int asked = 0;
	const struct live_names names = {name_find, &asked};
	struct live live;

	CHECK_EQ(part_add(&rows, &source, "process", "key", &names), 0);
	CHECK_EQ(asked, 1);
	CHECK_EQ(part_add(&rows, &source, "thread", "key", &names), 0);
	live = live_of(&source, &rows);
	CHECK_EQ(live.from_ns, 500);
	CHECK_EQ(live.to_ns, 5000);
	CHECK_EQ(live.parts_count, 2);
	CHECK_STR(live.parts[0].sort, "key");
	CHECK_EQ(live.parts[0].rows_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct row *process = &live.parts[0].rows[i];
		const struct row *thread = &live.parts[1].rows[i];

		CHECK_STR(process->process, process->pid == 7 ? "seven" : "own-8-0");
		CHECK_STR(thread->thread, thread->tid == 7 ? "seven" : "own-8-8");
	}
	live_rows_free(&rows);
	partial_free(source.partial);
}

TEST(parts_are_added_and_dropped)
{
	struct source source = source_make();
	struct live_rows rows = {0};
	int asked = 0;
	const struct live_names names = {name_find, &asked};

	CHECK_EQ(part_add(&rows, &source, "name", NULL, &names), 0);
	CHECK_EQ(rows.parts[0].rows_count, 0);
	CHECK_STR(rows.parts[0].sort, "total");
	live_rows_drop(&rows);
	for (int i = 0; i < LIVE_PARTS_MAX; i++)
		CHECK_EQ(part_add(&rows, &source, "syscall", NULL, &names), 0);
	CHECK_EQ(part_add(&rows, &source, "syscall", NULL, &names), -ENOSPC);
	CHECK_EQ(part_add(&rows, &source, "nothing", NULL, &names), -EINVAL);
	CHECK_EQ(rows.count, LIVE_PARTS_MAX);
	live_rows_free(&rows);
	CHECK_EQ(part_add(&rows, &source, "syscall", "p98", &names), -EINVAL);
	live_rows_free(&rows);
	partial_free(source.partial);
}

TEST_MAIN()
