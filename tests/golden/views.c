/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of the golden tests of what is shown: prints a case in a format
 * (json, txt, color, narrow: a terminal of 80 columns). tests/golden/<case>/expected.<format> is the text it
 * must give.
 */
#include <string.h>

#include "cli/bar.h"
#include "cli/chunks_view.h"
#include "cli/report_view.h"
#include "cli/trace_view.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define T0 81234000000000ull
#define MS 1000000ull

static const struct clock_view clocks[] = {
	{"web-1", "2b9c52c2-7d0e-4f4e-9a44-0d7c0d1f3a11", T0, 1763700000000000000},
	{"web-1", "2b9c52c2-7d0e-4f4e-9a44-0d7c0d1f3a11", T0 + 1000 * MS, 1763700001000000500},
};
static const struct gap_view gaps[] = {{T0 + 500 * MS, T0 + 620 * MS}};

static const struct source_view whole = {.clocks = clocks, .clocks_count = 1};
static const struct source_view damaged = {
	.clocks = clocks,
	.clocks_count = 2,
	.lost = {.buffer = 12, .recursion = 1, .damaged = 300},
	.incomplete = 4,
	.gaps = gaps,
	.gaps_count = 1,
	.steal_ns = 60 * MS,
	.cpu_ns = 2000 * MS,
};

#define SPLIT(...)                                                                                 \
	{                                                                                          \
		.ns = { __VA_ARGS__ }                                                              \
	}

static void report_show(const struct terminal *t, const char *format,
			const struct report_view *report)
{
	if (strcmp(format, "json") == 0)
		report_write_json(t->file, report);
	else
		report_write_text(t, report);
}

static void report_by_name(const struct terminal *t, const char *format)
{
	static const struct report_row rows[] = {
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
		{.key = "a name that is far too long for the first column of any table, "
			"\033[31mreally",
		 .service = "s\"q",
		 .count = 1,
		 .total_ns = 3,
		 .p50_ns = 3,
		 .p95_ns = 3,
		 .p99_ns = 3,
		 .max_ns = 3,
		 .time = SPLIT([SPLIT_lock] = 1, [SPLIT_unknown] = 2)},
	};
	const struct report_view report = {.by = "name",
					   .sort = "total",
					   .from_ns = T0,
					   .to_ns = T0 + 2000 * MS,
					   .source = whole,
					   .rows = rows,
					   .rows_count = COUNT(rows)};

	report_show(t, format, &report);
}

static void report_by_thread(const struct terminal *t, const char *format)
{
	static const struct report_row rows[] = {
		{.key = "redis-server",
		 .process = "redis-server",
		 .pid = 71,
		 .thread = "redis-server",
		 .tid = 71,
		 .absent = REPORT_NO_ERRORS,
		 .count = 1,
		 .total_ns = 2000 * MS,
		 .p50_ns = 2000 * MS,
		 .p95_ns = 2000 * MS,
		 .p99_ns = 2000 * MS,
		 .max_ns = 2000 * MS,
		 .time = SPLIT([SPLIT_user] = 100 * MS, [SPLIT_kernel] = 300 * MS,
			       [SPLIT_network] = 1600 * MS)},
		{.key = "bio_close_file",
		 .process = "redis-server",
		 .pid = 71,
		 .thread = "bio_close_file",
		 .tid = 75,
		 .absent = REPORT_NO_ERRORS,
		 .count = 1,
		 .total_ns = 1880 * MS,
		 .p50_ns = 1880 * MS,
		 .p95_ns = 1880 * MS,
		 .p99_ns = 1880 * MS,
		 .max_ns = 1880 * MS,
		 .time = SPLIT([SPLIT_lock] = 1760 * MS, [SPLIT_unknown] = 120 * MS)},
	};
	const struct report_view report = {.by = "thread",
					   .sort = "cpu",
					   .from_ns = T0,
					   .to_ns = T0 + 2000 * MS,
					   .source = damaged,
					   .rows = rows,
					   .rows_count = COUNT(rows)};

	report_show(t, format, &report);
}

static void report_by_cause(const struct terminal *t, const char *format)
{
	struct report_row rows[SPLIT_PARTS_COUNT] = {0};
	struct report_view report = {.by = "cause",
				     .sort = "total",
				     .from_ns = T0,
				     .to_ns = T0 + 1000 * MS,
				     .source = whole,
				     .rows = rows,
				     .rows_count = SPLIT_PARTS_COUNT};

	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		rows[i] = (struct report_row){.key = split_part_name(i),
					      .count = i,
					      .total_ns = i * MS,
					      .absent = REPORT_NO_ERRORS | REPORT_NO_PERCENTILES};
		rows[i].time.ns[i] = (s64)(i * MS);
	}
	report_show(t, format, &report);
}

static void report_by_event(const struct terminal *t, const char *format)
{
	static const struct report_row rows[] = {
		{.key = "sched:sched_migrate_task",
		 .count = 17,
		 .absent = REPORT_NO_ERRORS | REPORT_NO_DURATIONS | REPORT_NO_SPLIT},
	};
	const struct report_view report = {.by = "event",
					   .sort = "count",
					   .from_ns = T0,
					   .to_ns = T0 + MS,
					   .source = whole,
					   .rows = rows,
					   .rows_count = 1};

	report_show(t, format, &report);
}

static void report_empty(const struct terminal *t, const char *format)
{
	const struct report_view report = {
		.by = "process", .sort = "cpu", .from_ns = T0, .to_ns = T0};

	report_show(t, format, &report);
}

static void traces_show(const struct terminal *t, const char *format,
			const struct source_view *source, const struct trace_view *traces,
			size_t count)
{
	const struct trace_format *f = strcmp(format, "json") == 0 ? &trace_format_json
								   : &trace_format_text;
	struct trace_writer writer = {0};

	f->begin(&writer, t, source);
	for (size_t i = 0; i < count; i++)
		f->trace(&writer, &traces[i]);
	f->end(&writer);
}

#define STRING(k, s)                                                                               \
	{                                                                                          \
		.key = k, .type = ATTRIBUTE_VIEW_STRING, .string = s                               \
	}
#define INTEGER(k, n)                                                                              \
	{                                                                                          \
		.key = k, .type = ATTRIBUTE_VIEW_INTEGER, .integer = n                             \
	}
#define OWNER                                                                                      \
	.service = "thumbnailer", .host = "web-1", .process = "thumbnailer", .pid = 812,           \
	.thread = "worker-1", .tid = 815

static const struct attribute_view request_attributes[] = {
	STRING("http.route", "/thumb"),
	INTEGER("http.response.status_code", 200),
	{.key = "scale", .type = ATTRIBUTE_VIEW_REAL, .real = 0.5},
	{.key = "cached", .type = ATTRIBUTE_VIEW_BOOLEAN, .integer = 0},
};
static const struct attribute_view event_attributes[] = {INTEGER("frame", 250)};
static const struct event_view request_events[] = {
	{.time_ns = T0 + 11 * MS,
	 .name = "keyframe found",
	 .level = 6,
	 .attributes = event_attributes,
	 .attributes_count = 1},
	{.time_ns = T0 + 12 * MS, .name = "sched:sched_migrate_task", .level = EVENT_VIEW_NO_LEVEL},
};
static const struct attribute_view openat_attributes[] = {
	STRING("args", "AT_FDCWD, \"/srv/video.mp4\", O_RDONLY|O_CLOEXEC"),
	INTEGER("result", -2),
	STRING("error.type", "ENOENT"),
	STRING("file.path", "/srv/video.mp4"),
};
static const struct attribute_view sendto_attributes[] = {
	STRING("args", "9, 0x7f66c8001b20, 8192, MSG_NOSIGNAL, NULL, 0"),
	INTEGER("result", 8192),
	INTEGER("fd", 9),
	STRING("fd.name", "socket:[44121]"),
	STRING("network.peer.address", "10.0.0.7"),
	INTEGER("network.peer.port", 51234),
	STRING("network.transport", "tcp"),
	STRING("bytes.direction", "sent"),
	INTEGER("bytes.from", 16384),
	INTEGER("bytes.to", 24576),
};
static const struct frame_view frames[] = {
	{.address = 0xffffffff8115a0f4,
	 .function = "io_schedule",
	 .offset = 0x44,
	 .file = "[kernel]",
	 .kernel = true},
	{.address = 0xffffffffc0101020, .kernel = true},
	{.address = 0x7f0000012345,
	 .function = "pread",
	 .offset = 0x15,
	 .file = "/usr/lib/libc.so.6",
	 .file_offset = 0x12345},
	{.address = 0x555500001111, .file = "/usr/bin/f\033io", .file_offset = 0x1111},
	{.address = 0x7fffdead0000},
};

static const struct attribute_view wait_attributes[] = {
	STRING("cause", "network"),
	STRING("waker", "softirq net_rx"),
};

static void trace_request(const struct terminal *t, const char *format)
{
	static const struct span_view spans[] = {
		{.span_id = "00f067aa0ba902b7",
		 .name = "GET /thumb",
		 .kind = "server",
		 OWNER,
		 .begin_ns = T0,
		 .end_ns = T0 + 40 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_user] = 22 * MS, [SPLIT_kernel] = 3 * MS,
			       [SPLIT_network] = 15 * MS),
		 .attributes = request_attributes,
		 .attributes_count = COUNT(request_attributes),
		 .events = request_events,
		 .events_count = COUNT(request_events)},
		{.span_id = "1111111111111111",
		 .parent_id = "00f067aa0ba902b7",
		 .name = "open",
		 .kind = "internal",
		 OWNER,
		 .begin_ns = T0 + 1 * MS,
		 .end_ns = T0 + 3 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_user] = 1 * MS, [SPLIT_kernel] = 1 * MS)},
		{.span_id = "2222222222222222",
		 .parent_id = "1111111111111111",
		 .name = "openat",
		 .kind = "syscall",
		 OWNER,
		 .begin_ns = T0 + 2 * MS,
		 .end_ns = T0 + 3 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_kernel] = 1 * MS),
		 .attributes = openat_attributes,
		 .attributes_count = COUNT(openat_attributes)},
		{.span_id = "3333333333333333",
		 .parent_id = "00f067aa0ba902b7",
		 .name = "send",
		 .kind = "internal",
		 OWNER,
		 .begin_ns = T0 + 22 * MS,
		 .end_ns = T0 + 40 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_user] = 1 * MS, [SPLIT_kernel] = 2 * MS,
			       [SPLIT_network] = 15 * MS)},
		{.span_id = "4444444444444444",
		 .parent_id = "3333333333333333",
		 .name = "sendto",
		 .kind = "syscall",
		 OWNER,
		 .begin_ns = T0 + 23 * MS,
		 .end_ns = T0 + 40 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_kernel] = 2 * MS, [SPLIT_network] = 15 * MS),
		 .attributes = sendto_attributes,
		 .attributes_count = COUNT(sendto_attributes)},
		{.span_id = "5555555555555555",
		 .parent_id = "4444444444444444",
		 .name = "network",
		 .kind = "wait",
		 OWNER,
		 .begin_ns = T0 + 25 * MS,
		 .end_ns = T0 + 40 * MS,
		 .threads = 1,
		 .time = SPLIT([SPLIT_network] = 15 * MS),
		 .attributes = wait_attributes,
		 .attributes_count = COUNT(wait_attributes)},
	};
	const struct trace_view trace = {"4bf92f3577b34da6a3ce929d0e0e4736", spans, COUNT(spans)};

	traces_show(t, format, &whole, &trace, 1);
}

/* No application: a thread, soft bounds, a lost parent, parents in a circle. */
static void trace_threads(const struct terminal *t, const char *format)
{
	static const struct span_view thread[] = {
		{.span_id = "aaaaaaaaaaaaaaaa",
		 .name = "fio",
		 .kind = "thread",
		 .host = "web-1",
		 .process = "fio",
		 .pid = 90,
		 .thread = "fio",
		 .tid = 91,
		 .begin_ns = T0,
		 .end_ns = T0 + 10 * MS,
		 .begin_soft = true,
		 .end_soft = true,
		 .threads = 1,
		 .time = SPLIT([SPLIT_disk] = 8 * MS, [SPLIT_kernel] = 2 * MS)},
		{.span_id = "bbbbbbbbbbbbbbbb",
		 .parent_id = "aaaaaaaaaaaaaaaa",
		 .name = "disk",
		 .kind = "wait",
		 .host = "web-1",
		 .process = "fio",
		 .pid = 90,
		 .thread = "fio",
		 .tid = 91,
		 .begin_ns = T0,
		 .end_ns = T0 + 8 * MS,
		 .begin_soft = true,
		 .threads = 1,
		 .time = SPLIT([SPLIT_disk] = 8 * MS),
		 .frames = frames,
		 .frames_count = COUNT(frames)},
	};
	static const struct span_view odd[] = {
		{.span_id = "cccccccccccccccc",
		 .parent_id = "eeeeeeeeeeeeeeee",
		 .name = "orphan",
		 .kind = "context",
		 .begin_ns = T0 + 5,
		 .end_ns = T0 + 5,
		 .threads = 0},
		{.span_id = "d1d1d1d1d1d1d1d1",
		 .parent_id = "d2d2d2d2d2d2d2d2",
		 .name = "circle",
		 .kind = "internal",
		 .begin_ns = T0,
		 .end_ns = T0 + 900,
		 .threads = 2,
		 .time = SPLIT([SPLIT_user] = 1800)},
		{.span_id = "d2d2d2d2d2d2d2d2",
		 .parent_id = "d1d1d1d1d1d1d1d1",
		 .name = "circle",
		 .kind = "internal",
		 .begin_ns = T0,
		 .end_ns = T0 + 800,
		 .threads = 1,
		 .time = SPLIT([SPLIT_user] = 800)},
	};
	const struct trace_view traces[] = {
		{"0af7651916cd43dd8448eb211c80319c", odd, COUNT(odd)},
		{"", thread, COUNT(thread)},
	};

	traces_show(t, format, &damaged, traces, COUNT(traces));
}

static void trace_empty(const struct terminal *t, const char *format)
{
	traces_show(t, format, &whole, NULL, 0);
}

static void chunks_list(const struct terminal *t, const char *format)
{
	static const struct chunk_row rows[] = {
		{"fathom.data/1763700000000000000-1763700001000000000-0",
		 T0,
		 T0 + 1000 * MS,
		 81234,
		 1572864,
		 {0},
		 0,
		 "sealed"},
		{"fathom.data/1763700001000000000-1763700002000000000-1",
		 T0 + 1000 * MS,
		 T0 + 2000 * MS,
		 79113,
		 1500000,
		 {.buffer = 7, .application = 1},
		 3,
		 "recovered"},
		{"fathom.data/open-2", T0 + 2000 * MS, T0 + 2100 * MS, 100, 4096, {0}, 0, "open"},
	};

	if (strcmp(format, "json") == 0)
		chunks_write_json(t->file, rows, COUNT(rows));
	else
		chunks_write_text(t, rows, COUNT(rows));
}

static const struct {
	const char *name;
	void (*show)(const struct terminal *t, const char *format);
} cases[] = {
	{"report-by-name", report_by_name},
	{"report-by-thread", report_by_thread},
	{"report-by-cause", report_by_cause},
	{"report-by-event", report_by_event},
	{"report-empty", report_empty},
	{"trace-request", trace_request},
	{"trace-threads", trace_threads},
	{"trace-empty", trace_empty},
	{"chunks", chunks_list},
};

int main(int argc, char **argv)
{
	struct terminal t = {.file = stdout, .width = 110};

	if (argc != 3) {
		for (size_t i = 0; i < COUNT(cases); i++)
			puts(cases[i].name);
		return 0;
	}
	t.color = strcmp(argv[2], "color") == 0;
	t.cut = t.color || strcmp(argv[2], "narrow") == 0;
	if (t.cut && !t.color)
		t.width = 80;
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].show(&t, argv[2]);
			return 0;
		}
	}
	fprintf(stderr, "no such case: %s\n", argv[1]);
	return 2;
}
