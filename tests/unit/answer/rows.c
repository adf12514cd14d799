/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/rows.h"

#include <arpa/inet.h>
#include <endian.h>

#include "tests/unit/check.h"

static void apply(struct partial *p, const void *record)
{
	CHECK_EQ(partial_apply(p, record), 0);
}

static void says_socket(struct partial *p, u64 key)
{
	struct record_socket r = {
		.head = {.kind = RECORD_socket, .tid = 7, .pid = 7, .time_ns = 1000},
		.file = {.key = key, .kind = FILE_KIND_tcp},
		.family = AF_INET,
		.remote_lo = htobe64(0xffff0a000001),
		.remote_port = 80};

	apply(p, &r);
}

static void reads(struct partial *p, u64 time_ns, const struct file_ref *file)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = time_ns},
		.duration_ns = 100,
		.result = 1,
		.file = *file};

	apply(p, &r);
}

/* Each file system counts its files by itself, and so are sockets counted. */
TEST(a_file_with_the_number_of_a_socket_has_no_peer)
{
	const struct file_ref socket = {.key = 77, .kind = FILE_KIND_tcp};
	const struct file_ref file = {.key = 77, .dev = 1 << 20, .kind = FILE_KIND_regular};
	struct partial *p = partial_new(NULL);
	struct rows rows;

	says_socket(p, 77);
	reads(p, 2000, &socket);
	reads(p, 3000, &file);
	reads(p, 4000, &file);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(rows_build(&rows, p, grouping_find("peer"), NULL), 0);
	CHECK_EQ(rows.rows.count, 1);
	CHECK_STR(rows.rows.data[0].key, "10.0.0.1:80");
	CHECK_EQ(rows.rows.data[0].count, 1);
	rows_free(&rows);
	partial_free(p);
}

/* What is counted nowhere has no percentiles; a part without time is a row as well. */
TEST(every_part_of_time_is_a_row_by_cause)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;
	const struct file_ref file = {.key = 77, .dev = 1 << 20, .kind = FILE_KIND_regular};

	reads(p, 2000, &file);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(rows_build(&rows, p, grouping_find("cause"), NULL), 0);
	CHECK_EQ(rows.rows.count, SPLIT_PARTS_COUNT);
	for (size_t i = 0; i < rows.rows.count; i++) {
		const struct row *row = &rows.rows.data[i];

		CHECK_EQ(!(row->absent & ROW_NO_PERCENTILES), row->count > 0);
		CHECK_EQ((u64)split_total(&row->time), row->total_ns);
	}
	rows_free(&rows);
	partial_free(p);
}

static void check_threads(u64 from_ns, u64 to_ns, u32 first_tid, size_t count)
{
	const struct partial_options range = {.from_ns = from_ns, .to_ns = to_ns};
	struct partial *p = partial_new(&range);
	struct rows rows;

	for (u32 tid = 7; tid < 10; tid++) {
		u64 begin_ns = 1000 * (tid - 6);
		struct record_fork made = {
			.head = {.kind = RECORD_fork, .tid = tid, .pid = tid, .time_ns = begin_ns}};
		struct record_switch dead = {.head = {.kind = RECORD_switch,
						      .tid = tid,
						      .pid = tid,
						      .time_ns = begin_ns + 500},
					     .state = LEAVE_dead};

		apply(p, &made);
		apply(p, &dead);
	}
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(rows_build(&rows, p, grouping_find("thread"), NULL), 0);
	CHECK_EQ(rows.rows.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK(rows.rows.data[i].tid >= first_tid && rows.rows.data[i].total_ns > 0);
	rows_free(&rows);
	partial_free(p);
}

/* They live from 1000, 2000 and 3000 on, for 500 each. */
TEST(a_thread_beside_the_range_is_no_row)
{
	check_threads(0, 0, 7, 3);
	check_threads(1600, 0, 8, 2);
	check_threads(0, 2900, 7, 2);
	check_threads(1600, 2900, 8, 1);
}

TEST_MAIN()
