/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: a request down to the kernel, a thread without an application, and none. */
#include <stdlib.h>
#include <string.h>

#include "answer/json.h"
#include "cli/json_file.h"
#include "cli/trace_text.h"
#include "tests/golden/views.h"

/* One trace, with its spans ready to be shown. */
struct golden_trace {
	const char *trace_id;
	const struct span *spans;
	size_t count;
};

static const struct span *span_of(const struct trace *trace, size_t index, bool brief)
{
	return (const struct span *)trace->maker + index;
}

static struct span_position position_of(const struct trace *trace, size_t index)
{
	const struct span *span = span_of(trace, index, true);

	return (struct span_position){strtoull(span->span_id, NULL, 16),
				      strtoull(span->parent_id, NULL, 16),
				      span->begin_ns,
				      span->end_ns,
				      strcmp(span->kind, "syscall") == 0,
				      0};
}

static void traces_show(const struct terminal *t, const char *format,
			const struct source_view *source, const struct golden_trace *traces,
			size_t count)
{
	bool as_json = strcmp(format, "json") == 0;
	struct trace_text text;
	struct json json;

	json_init_file(&json, t->file);
	if (as_json)
		traces_json_begin(&json, source);
	else
		trace_text_begin(&text, t, source);
	for (size_t i = 0; i < count; i++) {
		struct trace view = {.spans_count = traces[i].count,
				     .position = position_of,
				     .span = span_of,
				     .maker = (void *)traces[i].spans};

		strcpy(view.trace_id, traces[i].trace_id);
		if (as_json)
			trace_write_json(&json, &view);
		else
			trace_text_write(&text, &view);
	}
	if (as_json)
		traces_json_end(&json);
	else
		trace_text_end(&text);
}

#define STRING(k, s)                                                                               \
	{                                                                                          \
		.key = k, .type = VALUE_STRING, .string = s                                        \
	}
#define INTEGER(k, n)                                                                              \
	{                                                                                          \
		.key = k, .type = VALUE_INTEGER, .integer = n                                      \
	}
#define OWNER                                                                                      \
	.service = "thumbnailer", .host = "web-1", .process = "thumbnailer", .pid = 812,           \
	.thread = "worker-1", .tid = 815

static const struct attribute request_attributes[] = {
	STRING("http.route", "/thumb"),
	INTEGER("http.response.status_code", 200),
	{.key = "scale", .type = VALUE_REAL, .real = 0.5},
	{.key = "cached", .type = VALUE_BOOLEAN, .integer = 0},
};
static const struct attribute event_attributes[] = {INTEGER("frame", 250)};
static const struct event request_events[] = {
	{.time_ns = T0 + 11 * MS,
	 .name = "keyframe found",
	 .level = 6,
	 .attributes = event_attributes,
	 .attributes_count = 1},
	{.time_ns = T0 + 12 * MS, .name = "sched:sched_migrate_task", .level = EVENT_NO_LEVEL},
};
static const struct attribute openat_attributes[] = {
	STRING("args", "AT_FDCWD, \"/srv/video.mp4\", O_RDONLY|O_CLOEXEC"),
	INTEGER("result", -2),
	STRING("error.type", "ENOENT"),
	STRING("file.path", "/srv/video.mp4"),
};
static const struct attribute sendto_attributes[] = {
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
static const struct frame frames[] = {
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

static const struct attribute wait_attributes[] = {
	STRING("cause", "network"),
	STRING("waker", "softirq net_rx"),
};

static const struct span request_spans[] = {
	{.span_id = "00f067aa0ba902b7",
	 .name = "GET /thumb",
	 .kind = "server",
	 OWNER,
	 .begin_ns = T0,
	 .end_ns = T0 + 40 * MS,
	 .threads = 1,
	 .time = SPLIT([SPLIT_user] = 22 * MS, [SPLIT_kernel] = 3 * MS, [SPLIT_network] = 15 * MS),
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
	 .time = SPLIT([SPLIT_user] = 1 * MS, [SPLIT_kernel] = 2 * MS, [SPLIT_network] = 15 * MS)},
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

static void trace_request(const struct terminal *t, const char *format)
{
	const struct golden_trace trace = {"4bf92f3577b34da6a3ce929d0e0e4736", request_spans,
					   COUNT(request_spans)};

	traces_show(t, format, &source_whole, &trace, 1);
}

/* Some kernel events of a thread come after its end. */
static const struct event thread_events[] = {
	{.time_ns = T0 + 13 * MS, .name = "sched:sched_process_free", .level = EVENT_NO_LEVEL},
};
static const struct span thread_spans[] = {
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
	 .time = SPLIT([SPLIT_disk] = 8 * MS, [SPLIT_kernel] = 2 * MS),
	 .events = thread_events,
	 .events_count = COUNT(thread_events)},
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

static const struct span odd_spans[] = {
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

/* No application: a thread, soft bounds, a lost parent, parents in a circle. */
static void trace_threads(const struct terminal *t, const char *format)
{
	const struct golden_trace traces[] = {
		{"0af7651916cd43dd8448eb211c80319c", odd_spans, COUNT(odd_spans)},
		{"", thread_spans, COUNT(thread_spans)},
	};

	traces_show(t, format, &source_damaged, traces, COUNT(traces));
}

static void trace_empty(const struct terminal *t, const char *format)
{
	traces_show(t, format, &source_whole, NULL, 0);
}

const struct view_case trace_cases[] = {
	{"trace-request", trace_request},
	{"trace-threads", trace_threads},
	{"trace-empty", trace_empty},
	{0},
};
