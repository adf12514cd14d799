/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/rows.h"

#include "answer/grouping.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

static struct grouping by_of(const char *text)
{
	struct grouping by = {0};
	struct error e = {0};

	CHECK_EQ(grouping_make(&by, text, NULL, &e), 0);
	return by;
}

/* The rows of a finished partial. */
static void rows_by(struct rows *rows, const struct partial *p, const char *text)
{
	const struct grouping by = by_of(text);

	CHECK_EQ(rows_build(rows, p, &by, NULL), 0);
}

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

/* Each third call fails. */
static void reads(struct partial *p, u64 time_ns, const struct file_ref *file)
{
	struct record_syscall r = {
		.head = {.kind = RECORD_syscall, .tid = 7, .pid = 7, .time_ns = time_ns},
		.duration_ns = 100,
		.result = time_ns % 3 ? 1 : -ENOENT,
		.file = *file};

	apply(p, &r);
}

/* A peer that is served by a program of this host is told with its name. */
TEST(what_serves_a_peer)
{
	const struct file_ref socket = {.key = 77, .kind = FILE_KIND_tcp};
	struct record_socket accepted = {
		.head = {.kind = RECORD_socket, .tid = 8, .pid = 8, .time_ns = 1000},
		.file = {.key = 78, .kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED},
		.family = AF_INET,
		.local_lo = htobe64(0xffff0a000001),
		.local_port = 80,
		.remote_lo = htobe64(0xffff0a000002),
		.remote_port = 40000};
	struct record_thread server = {
		.head = {.kind = RECORD_thread, .tid = 8, .pid = 8, .time_ns = 900}, .start_ns = 1};
	struct partial *p = partial_new(NULL);
	struct rows rows;

	server.comm_len = 5;
	memcpy(server.comm, "httpd", 5);
	apply(p, &server);
	says_socket(p, 77);
	apply(p, &accepted);
	reads(p, 2000, &socket);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "peer");
	CHECK_EQ(rows.rows.count, 1);
	CHECK_STR(rows.rows.data[0].key, "10.0.0.1:80");
	CHECK_STR(rows.rows.data[0].service, "httpd");
	rows_free(&rows);
	partial_free(p);
}

/* A TCP connection between two addresses 10.0.0.N, of which `side` was told. */
static void says_ends(struct partial *p, const struct file_ref *file, const u16 *local,
		      const u16 *remote)
{
	u32 pid = file->flags & FILE_ACCEPTED ? 8 : 7;
	struct record_socket r = {
		.head = {.kind = RECORD_socket, .tid = pid, .pid = pid, .time_ns = 1000},
		.file = *file,
		.family = AF_INET,
		.local_lo = htobe64(0xffff0a000000 + local[0]),
		.local_port = local[1],
		.remote_lo = htobe64(0xffff0a000000 + remote[0]),
		.remote_port = remote[1]};

	apply(p, &r);
}

/* A service at two addresses is one row, and so are its clients, whatever their ports. */
TEST(a_service_is_one_peer)
{
	static const u16 server[3][2] = {{1, 80}, {2, 80}, {2, 81}};
	const struct row *row;
	struct record_thread thread = {
		.head = {.kind = RECORD_thread, .tid = 8, .pid = 8, .time_ns = 900}, .start_ns = 1};
	struct partial *p = partial_new(NULL);
	struct rows rows;

	thread.comm_len = 5;
	memcpy(thread.comm, "httpd", 5);
	apply(p, &thread);
	for (u16 i = 0; i < 6; i++) {
		struct file_ref made = {.key = 100u + i, .kind = FILE_KIND_tcp, .flags = FILE_MADE};
		struct file_ref taken = {
			.key = 200u + i, .kind = FILE_KIND_tcp, .flags = FILE_ACCEPTED};
		const u16 client[2] = {9, 40000 + i};

		says_ends(p, &made, client, server[i % 3]);
		says_ends(p, &taken, server[i % 3], client);
	}
	for (u64 key = 100; key < 106; key++) {
		reads(p, 2000 + key, &(struct file_ref){.key = key, .kind = FILE_KIND_tcp});
		reads(p, 3000 + key, &(struct file_ref){.key = key + 100, .kind = FILE_KIND_tcp});
	}
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "peer");
	CHECK_EQ(rows_finish(&rows, "key"), 0);
	CHECK_EQ(rows.rows.count, 4);
	row = &rows.rows.data[0];
	CHECK_STR(row->key, "10.0.0.1:80");
	CHECK_STR(row->service, "httpd");
	CHECK_EQ(row->count, 4);
	CHECK_EQ(row->connections, 4);
	CHECK_EQ(row->addresses_count, 2);
	CHECK_STR(row->addresses[0], "10.0.0.1:80");
	CHECK_STR(row->addresses[1], "10.0.0.2:80");
	row = &rows.rows.data[1];
	CHECK_STR(row->key, "10.0.0.2:81"); /* another operation of it */
	CHECK_EQ(row->addresses_count, 1);
	CHECK_STR(rows.rows.data[2].key, "clients of :80");
	CHECK_STR(rows.rows.data[2].service, "httpd");
	CHECK_EQ(rows.rows.data[2].connections, 4);
	CHECK_EQ(rows.rows.data[2].addresses_count, 0);
	CHECK_STR(rows.rows.data[3].key, "clients of :81");
	rows_free(&rows);
	partial_free(p);
}

/* A file and a socket can have the same number: each file system numbers its own files. */
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
	rows_by(&rows, p, "peer");
	CHECK_EQ(rows.rows.count, 1);
	CHECK_STR(rows.rows.data[0].key, "10.0.0.1:80");
	CHECK_EQ(rows.rows.data[0].count, 1);
	rows_free(&rows);
	partial_free(p);
}

/* A TCP socket of 127.0.0.1; without a peer it listens. `side`: FILE_*, or 0: not told. */
static void says_side(struct partial *p, u64 key, u16 local, u16 remote, u16 side)
{
	struct record_socket r = {
		.head = {.kind = RECORD_socket, .tid = 7, .pid = 7, .time_ns = 1000},
		.file = {.key = key, .kind = FILE_KIND_tcp, .flags = side},
		.family = AF_INET6,
		.local_port = local,
		.remote_port = remote,
		.remote_lo = remote ? htobe64(0xffff7f000001) : 0};

	apply(p, &r);
}

static void says_tcp(struct partial *p, u64 key, u16 local, u16 remote)
{
	says_side(p, key, local, remote, 0);
}

/* Clients have a port for each connection: they are one row, by the port of the server. */
TEST(clients_of_a_server_are_one_row)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;

	says_tcp(p, 1, 8080, 0);
	says_tcp(p, 2, 8080, 40001);
	says_tcp(p, 3, 8080, 40002);
	says_tcp(p, 4, 40003, 5432);
	says_tcp(p, 5, 40004, 0); /* it was bound before it was connected, and listens to nothing */
	says_tcp(p, 5, 40004, 5432);
	for (u64 key = 2; key <= 5; key++)
		for (u64 i = 0; i < key; i++)
			reads(p, 2000 + key * 1000 + i,
			      &(struct file_ref){.key = key, .kind = FILE_KIND_tcp});
	partial_cover(p, 500, 50000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "peer");
	CHECK_EQ(rows.rows.count, 2);
	CHECK_EQ(rows_finish(&rows, "count"), 0);
	CHECK_STR(rows.rows.data[0].key, "127.0.0.1:5432");
	CHECK_EQ(rows.rows.data[0].count, 9);
	CHECK_EQ(rows.rows.data[0].connections, 2);
	CHECK_STR(rows.rows.data[1].key, "clients of :8080");
	CHECK_EQ(rows.rows.data[1].count, 5);
	CHECK_EQ(rows.rows.data[1].connections, 2);
	CHECK_EQ(rows.rows.data[1].errnos_count, 1);
	rows_free(&rows);
	partial_free(p);
}

static void check_peer(const u16 *local, u16 remote, size_t sockets, const char *peer)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;

	for (u64 key = 1; key <= sockets; key++) {
		says_tcp(p, key, local[key - 1], (u16)(remote + key));
		reads(p, 2000 + key, &(struct file_ref){.key = key, .kind = FILE_KIND_tcp});
	}
	partial_cover(p, 500, 50000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "peer");
	CHECK_STR(rows.rows.data[0].key, peer);
	rows_free(&rows);
	partial_free(p);
}

static void check_side(u16 local, u16 remote, u16 side, const char *peer)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;

	for (u64 key = 1; key <= 4; key++) {
		says_side(p, key, local, remote, side);
		reads(p, 2000 + key, &(struct file_ref){.key = key, .kind = FILE_KIND_tcp});
	}
	partial_cover(p, 500, 50000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "peer");
	CHECK_EQ(rows.rows.count, 1);
	CHECK_STR(rows.rows.data[0].key, peer);
	rows_free(&rows);
	partial_free(p);
}

/* Whatever their ports look like. */
TEST(a_connection_was_accepted_or_made_as_was_told)
{
	check_side(50000, 80, FILE_ACCEPTED, "clients of :50000");
	check_side(8080, 40000, FILE_MADE, "127.0.0.1:40000");
	check_side(8080, 40000, FILE_ASKED, "127.0.0.1:40000");
	check_side(8080, 40000, 0, "clients of :8080");
}

/* The socket that listens was not told: its connections tell of it. */
TEST(a_server_is_known_by_its_connections)
{
	check_peer((const u16[]){8080}, 40000, 1, "clients of :8080");
	check_peer((const u16[]){40000, 40000, 40000}, 50000, 3, "clients of :40000");
	check_peer((const u16[]){40000, 40000}, 50000, 2, "127.0.0.1:50001");
	check_peer((const u16[]){8080}, 80, 1, "127.0.0.1:81");
	check_peer((const u16[]){40000}, 80, 1, "127.0.0.1:81");
}

static void lives_as(struct partial *p, u64 begin_ns, const char *comm)
{
	struct record_fork made = {
		.head = {.kind = RECORD_fork, .tid = 7, .pid = 7, .time_ns = begin_ns},
		.comm_len = (u16)strlen(comm)};
	struct record_switch dead = {
		.head = {.kind = RECORD_switch, .tid = 7, .pid = 7, .time_ns = begin_ns + 900},
		.state = LEAVE_dead};

	memcpy(made.comm, comm, strlen(comm));
	apply(p, &made);
	reads(p, begin_ns + 500, &(struct file_ref){.key = 77, .kind = FILE_KIND_pipe});
	apply(p, &dead);
}

/* Sums know a process by its number only: one that two processes had names none of them. */
TEST(a_number_that_two_processes_had_names_neither)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;

	lives_as(p, 1000, "first");
	lives_as(p, 3000, "second");
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "process");
	CHECK_EQ(rows.rows.count, 2);
	rows_free(&rows);
	rows_by(&rows, p, "process,file");
	CHECK_EQ(rows.rows.count, 1);
	CHECK_STR(rows.rows.data[0].values[0], "(several processes)");
	CHECK_EQ(rows.rows.data[0].count, 2);
	CHECK(!rows.rows.data[0].process && rows.rows.data[0].pid == 7);
	rows_free(&rows);
	rows_by(&rows, p, "file");
	CHECK_EQ(rows.rows.data[0].count, 2);
	rows_free(&rows);
	partial_free(p);
}

/* What a filter does not take is in no row. */
TEST(filters_choose_what_rows_count)
{
	const struct file_ref file = {.key = 77, .dev = 1 << 20, .kind = FILE_KIND_regular};
	const u32 seven = 7, eight = 8;
	const struct {
		const char *by;
		struct filter filter;
		size_t rows;
	} cases[] = {
		{"syscall", {.pids = &seven, .pids_count = 1}, 1},
		{"syscall", {.pids = &eight, .pids_count = 1}, 0},
		{"process", {.syscall = "write,re*"}, 1},
		{"process", {.syscall = "write"}, 0},
		{"file", {.file = "regular:*"}, 1},
		{"file", {.file = "/srv/*"}, 0},
		{"process", {.program = "?"}, 1},
		{"cause", {.command = "nothing"}, 0},
		{"file,cause", {.syscall = "read"}, 1},
	};
	struct partial *p = partial_new(NULL);

	reads(p, 2000, &file);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct grouping by;
		struct error e = {0};
		struct rows rows;

		CHECK_EQ(grouping_make(&by, cases[i].by, &cases[i].filter, &e), 0);
		CHECK_EQ(rows_build(&rows, p, &by, NULL), 0);
		CHECK_EQ(rows.rows.count, cases[i].rows);
		rows_free(&rows);
	}
	partial_free(p);
}

/* A part that counts no waits has no percentiles; a part without time is a row as well. */
TEST(every_part_of_time_is_a_row_by_cause)
{
	struct partial *p = partial_new(NULL);
	struct rows rows;
	const struct file_ref file = {.key = 77, .dev = 1 << 20, .kind = FILE_KIND_regular};

	reads(p, 2000, &file);
	partial_cover(p, 500, 5000);
	CHECK_EQ(partial_finish(p), 0);
	rows_by(&rows, p, "cause");
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
	rows_by(&rows, p, "thread");
	CHECK_EQ(rows.rows.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK(rows.rows.data[i].tid >= first_tid && rows.rows.data[i].total_ns > 0);
	rows_free(&rows);
	partial_free(p);
}

/* Three threads live from 1000, 2000 and 3000 on, for 500 ns each. */
TEST(a_thread_beside_the_range_is_no_row)
{
	check_threads(0, 0, 7, 3);
	check_threads(1600, 0, 8, 2);
	check_threads(0, 2900, 7, 2);
	check_threads(1600, 2900, 8, 1);
}

/* ---- rows that are merged ---- */

#define ROUNDS 40

static void span_begins(struct partial *p, u64 time_ns, const struct context *ctx, char name)
{
	struct record_span_begin r = {
		.head = {.kind = RECORD_span_begin, .tid = 7, .pid = 7, .time_ns = time_ns},
		.flags = 1,
		.ctx = *ctx,
		.name_len = 1,
		.name = {name}};

	apply(p, &r);
}

static void span_ends(struct partial *p, u64 time_ns, const struct context *ctx, bool error)
{
	struct record_span_end r = {
		.head = {.kind = RECORD_span_end, .tid = 7, .pid = 7, .time_ns = time_ns},
		.status = error ? 2 : 0,
		.flags = 1,
		.ctx = *ctx};

	apply(p, &r);
}

/* Rounds [from, to), each with a span of one of three names and a call in it. */
static struct partial *rounds_map(u32 from, u32 to)
{
	const struct file_ref files[] = {
		{.key = 77, .kind = FILE_KIND_tcp},
		{.key = 78, .dev = 1 << 20, .kind = FILE_KIND_regular},
	};
	struct partial *p = partial_new(NULL);

	for (u32 i = from; i < to; i++) {
		const struct context ctx = {{1}, {(u8)(i + 1)}};
		u64 at_ns = 10000 * (i + 1);

		if (i == from)
			says_socket(p, 77);
		span_begins(p, at_ns, &ctx, (char)('a' + i % 3));
		reads(p, at_ns + 200 + i, &files[i % 2]);
		span_ends(p, at_ns + 500 + i * i, &ctx, i % 5 == 0);
	}
	partial_cover(p, 10000 * (from + 1), 10000 * (to + 1));
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static void check_same(const struct rows *rows, const struct rows *whole)
{
	CHECK(whole->rows.count > 0);
	CHECK_EQ(rows->rows.count, whole->rows.count);
	for (size_t i = 0; i < whole->rows.count; i++) {
		const struct row *x = &rows->rows.data[i], *y = &whole->rows.data[i];

		CHECK_STR(x->key, y->key);
		CHECK_EQ(x->absent, y->absent);
		CHECK_EQ(x->count, y->count);
		CHECK_EQ(x->errors, y->errors);
		CHECK_EQ(x->total_ns, y->total_ns);
		CHECK_EQ(x->p50_ns, y->p50_ns);
		CHECK_EQ(x->p95_ns, y->p95_ns);
		CHECK_EQ(x->p99_ns, y->p99_ns);
		CHECK_EQ(x->max_ns, y->max_ns);
		CHECK(memcmp(&x->time, &y->time, sizeof(x->time)) == 0);
	}
}

/* The sums of rounds [from, to), without the partial. */
static void rounds_sum(struct rows *out, const struct grouping *by, u32 from, u32 to,
		       const char *host)
{
	struct partial *p = rounds_map(from, to);

	*out = (struct rows){0};
	CHECK_EQ(rows_fill(out, p, by, host), 0);
	partial_free(p);
}

TEST(rows_of_parts_merge_to_the_rows_of_the_whole)
{
	static const char *const additive[] = {"name", "service",	"syscall",	  "file",
					       "peer", "syscall,errno", "process,syscall"};

	for (size_t i = 0; i < sizeof(additive) / sizeof(additive[0]); i++) {
		const struct grouping made = by_of(additive[i]), *by = &made;
		struct rows whole, merged, part;

		rounds_sum(&whole, by, 0, ROUNDS, NULL);
		CHECK_EQ(rows_finish(&whole, by->sort), 0);
		rounds_sum(&merged, by, ROUNDS / 2, ROUNDS, NULL);
		CHECK_EQ(rows_finish(&merged, by->sort), 0); /* an answer in between */
		rounds_sum(&part, by, 0, ROUNDS / 4, NULL);
		CHECK_EQ(rows_merge(&merged, &part), 0);
		rows_free(&part);
		rounds_sum(&part, by, ROUNDS / 4, ROUNDS / 2, NULL);
		CHECK_EQ(rows_merge(&merged, &part), 0);
		rows_free(&part);
		CHECK_EQ(rows_finish(&merged, by->sort), 0);
		check_same(&merged, &whole);
		rows_free(&merged);
		rows_free(&whole);
	}
}

TEST(rows_of_two_hosts_stay_apart)
{
	const struct grouping made = by_of("name"), *by = &made;
	struct rows rows, other;

	rounds_sum(&rows, by, 0, ROUNDS, "b");
	rounds_sum(&other, by, 0, ROUNDS, "a");
	CHECK_EQ(rows_merge(&rows, &other), 0);
	rows_free(&other);
	CHECK_EQ(rows_finish(&rows, "key"), 0);
	CHECK_EQ(rows.rows.count, 6);
	for (size_t i = 0; i < rows.rows.count; i++) {
		const struct row *row = &rows.rows.data[i];

		CHECK_EQ(row->key[0], 'a' + (int)i / 2);
		CHECK_STR(row->host, i % 2 ? "b" : "a");
		CHECK_EQ(row->count, row->key[0] == 'a' ? 14 : 13);
	}
	rows_free(&rows);
}

TEST(an_unknown_order_is_refused)
{
	const struct grouping by = by_of("name");
	struct rows rows;

	rounds_sum(&rows, &by, 0, 1, NULL);
	CHECK_EQ(rows_finish(&rows, "p98"), -EINVAL);
	rows_free(&rows);
}

TEST_MAIN()
