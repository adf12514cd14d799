/* SPDX-License-Identifier: Apache-2.0 */
/* Reports, one for each grouping. */
#include <errno.h>
#include <string.h>

#include "answer/json.h"
#include "cli/json_file.h"
#include "cli/report_text.h"
#include "tests/golden/views.h"

static void report_show(const struct terminal *t, const char *format, const struct report *report)
{
	struct json json;

	json_init_file(&json, t->file);
	if (strcmp(format, "json") == 0)
		report_write_json(&json, report);
	else
		report_write_text(t, report);
}

static void report_by_name(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{.key = "GET /thumb",
		 .service = "thumbnailer",
		 .count = 128,
		 .errors = 2,
		 .total_ns = 12800 * MS,
		 .p50_ns = 90 * MS,
		 .p95_ns = 180 * MS,
		 .p99_ns = 240 * MS,
		 .max_ns = 251123456,
		 .time = SPLIT([SPLIT_user] = 7000 * MS, [SPLIT_kernel] = 500 * MS,
			       [SPLIT_runnable] = 1300 * MS, [SPLIT_disk] = 3000 * MS,
			       [SPLIT_off_thread] = 1000 * MS)},
		{.key = "decode",
		 .service = "thumbnailer",
		 .count = 128,
		 .total_ns = 6400 * MS,
		 .p50_ns = 49 * MS,
		 .p95_ns = 60 * MS,
		 .p99_ns = 80 * MS,
		 .max_ns = 99 * MS,
		 .time = SPLIT([SPLIT_user] = 6400 * MS)},
		{.key = "00f067aa0ba902b7", /* only its context was seen; its service is unknown */
		 ONE_OF(2 * MS),
		 .time = SPLIT([SPLIT_kernel] = 2 * MS)},
		{.key = "a name that is far too long for the first column of any table, "
			"\033[31mreally",
		 .service = "s\"q",
		 ONE_OF(3),
		 .time = SPLIT([SPLIT_lock] = 1, [SPLIT_unknown] = 2)},
	};
	const struct report report = {.by = "name",
				      .sort = "total",
				      .from_ns = T0,
				      .to_ns = T0 + 2000 * MS,
				      .source = source_whole,
				      .rows = rows,
				      .rows_count = COUNT(rows)};

	report_show(t, format, &report);
}

static void report_by_thread(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{.key = "redis-server",
		 .process = "redis-server",
		 .pid = 71,
		 .thread = "redis-server",
		 .tid = 71,
		 .absent = ROW_NO_ERRORS | ROW_OF_LIVES,
		 ONE_OF(2000 * MS),
		 .time = SPLIT([SPLIT_user] = 100 * MS, [SPLIT_kernel] = 300 * MS,
			       [SPLIT_network] = 1600 * MS)},
		{.key = "bio_close_file",
		 .process = "redis-server",
		 .pid = 71,
		 .thread = "bio_close_file",
		 .tid = 75,
		 .absent = ROW_NO_ERRORS | ROW_OF_LIVES,
		 ONE_OF(1880 * MS),
		 .time = SPLIT([SPLIT_lock] = 1760 * MS, [SPLIT_unknown] = 120 * MS)},
	};
	const struct report report = {.by = "thread",
				      .sort = "cpu",
				      .from_ns = T0,
				      .to_ns = T0 + 2000 * MS,
				      .source = source_damaged,
				      .rows = rows,
				      .rows_count = COUNT(rows)};

	report_show(t, format, &report);
}

static void report_by_cause(const struct terminal *t, const char *format)
{
	struct row rows[SPLIT_PARTS_COUNT] = {0};
	struct report report = {.by = "cause",
				.sort = "total",
				.from_ns = T0,
				.to_ns = T0 + 1000 * MS,
				.source = source_whole,
				.rows = rows,
				.rows_count = SPLIT_PARTS_COUNT};

	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		bool counted = i != SPLIT_user && i != SPLIT_kernel && i != SPLIT_unknown &&
			       i != SPLIT_cpu;
		uint64_t ns = i == SPLIT_throttled ? 0 : (i + 1) * MS;

		counted &= ns > 0;
		rows[i] = (struct row){.key = split_part_name(i),
				       .total_ns = ns,
				       .absent = ROW_NO_ERRORS | ROW_NO_PERCENTILES};
		rows[i].time.ns[i] = (int64_t)ns;
		if (!counted)
			continue;
		rows[i].absent = ROW_NO_ERRORS;
		rows[i].count = i;
		rows[i].p50_ns = MS / 2;
		rows[i].p95_ns = rows[i].p99_ns = rows[i].max_ns = MS;
	}
	report_show(t, format, &report);
}

static void report_by_event(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{.key = "sched:sched_migrate_task",
		 .count = 17,
		 .absent = ROW_NO_ERRORS | ROW_NO_DURATIONS | ROW_NO_SPLIT},
	};
	const struct report report = {.by = "event",
				      .sort = "count",
				      .from_ns = T0,
				      .to_ns = T0 + MS,
				      .source = source_whole,
				      .rows = rows,
				      .rows_count = 1};

	report_show(t, format, &report);
}

static void report_empty(const struct terminal *t, const char *format)
{
	const struct report report = {.by = "process", .sort = "cpu", .from_ns = T0, .to_ns = T0};

	report_show(t, format, &report);
}

/* A row whose time is all in one part, which shows in the bar which row it is. */
#define ROW(name, n, part)                                                                         \
	.key = name, .count = n, .total_ns = (n)*10 * MS, .p50_ns = 9 * MS, .p95_ns = 19 * MS,     \
	.p99_ns = 29 * MS, .max_ns = 30 * MS, .time = SPLIT([part] = (n)*10 * MS)

static void rows_show(const struct terminal *t, const char *format, const char *by,
		      const struct row *rows, size_t count)
{
	const struct report report = {.by = by,
				      .sort = "total",
				      .from_ns = T0,
				      .to_ns = T0 + 1000 * MS,
				      .source = source_whole,
				      .rows = rows,
				      .rows_count = count};

	report_show(t, format, &report);
}

static void report_by_process(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{ROW("nginx", 4, SPLIT_network), .process = "nginx", .pid = 12, .program = "nginx",
		 .command = "nginx: worker process", .absent = ROW_NO_ERRORS | ROW_OF_LIVES},
		{ROW("kworker/0:1", 1, SPLIT_kernel), .process = "kworker/0:1", .pid = 9,
		 .absent = ROW_NO_ERRORS | ROW_OF_LIVES},
	};

	rows_show(t, format, "process", rows, COUNT(rows));
}

static void report_by_service(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{ROW("thumbnailer", 640, SPLIT_runnable), .service = "thumbnailer", .errors = 3},
		{ROW("front", 128, SPLIT_off_thread), .service = "front"},
		{ROW("?", 1, SPLIT_kernel)},
	};

	rows_show(t, format, "service", rows, COUNT(rows));
}

static void report_by_syscall(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{ROW("epoll_wait", 300, SPLIT_network)},
		{ROW("openat", 20, SPLIT_disk), .errors = 1},
	};

	rows_show(t, format, "syscall", rows, COUNT(rows));
}

static void report_by_file(const struct terminal *t, const char *format)
{
	static const struct row_errno again = {EAGAIN, 2};
	static const struct row rows[] = {
		{ROW("/var/lib/postgresql/15/main/base/16384/a-file-whose-path-is-long_fsm", 30,
		     SPLIT_disk)},
		{ROW("pipe:[4711]", 2, SPLIT_ipc), .errors = 2, .errnos = &again, .errnos_count = 1,
		 .read_bytes = 1 << 20},
	};

	rows_show(t, format, "file", rows, COUNT(rows));
}

static void report_by_peer(const struct terminal *t, const char *format)
{
	static const char *const addresses[] = {"127.0.0.1:6379", "10.0.0.7:6379"};
	static const struct row rows[] = {
		{ROW("[2001:db8::17]:5432", 30, SPLIT_network)},
		{ROW("127.0.0.1:6379", 12, SPLIT_network), .service = "redis-server",
		 .addresses = addresses, .addresses_count = COUNT(addresses)},
		{ROW("/run/dbus/system_bus_socket", 2, SPLIT_ipc)},
	};

	rows_show(t, format, "peer", rows, COUNT(rows));
}

static void report_by_process_file(const struct terminal *t, const char *format)
{
	static const struct row rows[] = {
		{ROW("cc1, /usr/include/stdio.h", 30, SPLIT_disk), .process = "cc1", .pid = 12,
		 .program = "cc1", .values = {"cc1", "/usr/include/stdio.h"}, .read_bytes = 4096,
		 .command =
			 "cc1 -quiet -imultiarch x86_64-linux-gnu main.c -quiet -dumpbase main.c "
			 "-dumpbase-ext .c -mtune=generic -march=x86-64 -o /tmp/ccAbCdEf.s"},
		{ROW("as, /tmp/ccAbCdEf.s", 30, SPLIT_kernel), .process = "as", .pid = 13,
		 .values = {"as", "/tmp/ccAbCdEf.s"}, .written_bytes = 123456},
	};
	const struct report report = {.by = "process,file",
				      .keys = {key_find("process", 7), key_find("file", 4)},
				      .sort = "total",
				      .from_ns = T0,
				      .to_ns = T0 + 1000 * MS,
				      .source = source_whole,
				      .rows = rows,
				      .rows_count = COUNT(rows),
				      .rows_total = 7};

	report_show(t, format, &report);
}

const struct view_case report_cases[] = {
	{"report-by-name", report_by_name},	  {"report-by-service", report_by_service},
	{"report-by-process", report_by_process}, {"report-by-thread", report_by_thread},
	{"report-by-syscall", report_by_syscall}, {"report-by-file", report_by_file},
	{"report-by-peer", report_by_peer},	  {"report-by-two-keys", report_by_process_file},
	{"report-by-cause", report_by_cause},	  {"report-by-event", report_by_event},
	{"report-empty", report_empty},		  {0},
};
