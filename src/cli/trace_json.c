/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/trace_view.h"

const struct attribute_view *span_view_attribute(const struct span_view *span, const char *key)
{
	for (size_t i = 0; i < span->attributes_count; i++) {
		const char *has = span->attributes[i].key;

		if (*has == *key && strcmp(has, key) == 0) /* most differ there already */
			return &span->attributes[i];
	}
	return NULL;
}

const char *level_view_name(int level)
{
	static const char *const names[] = {"emergency", "alert",  "critical", "error",
					    "warning",	 "notice", "info",     "debug"};

	return names[level < 0 ? 0 : level > 7 ? 7 : level];
}

static void attributes_write(struct json *j, const struct attribute_view *attributes, size_t count)
{
	json_object_begin(j, "attributes");
	for (size_t i = 0; i < count; i++) {
		const struct attribute_view *a = &attributes[i];

		switch (a->type) {
		case ATTRIBUTE_VIEW_STRING:
			json_string(j, a->key, a->string);
			break;
		case ATTRIBUTE_VIEW_INTEGER:
			json_s64(j, a->key, a->integer);
			break;
		case ATTRIBUTE_VIEW_REAL:
			json_double(j, a->key, a->real);
			break;
		case ATTRIBUTE_VIEW_BOOLEAN:
			json_bool(j, a->key, a->integer != 0);
			break;
		}
	}
	json_object_end(j);
}

static void events_write(struct json *j, const struct span_view *span)
{
	json_array_begin(j, "events");
	for (size_t i = 0; i < span->events_count; i++) {
		const struct event_view *event = &span->events[i];

		json_object_begin(j, NULL);
		json_u64(j, "time_ns", event->time_ns);
		json_string(j, "name", event->name);
		if (event->level != EVENT_VIEW_NO_LEVEL)
			json_string(j, "level", level_view_name(event->level));
		attributes_write(j, event->attributes, event->attributes_count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void frames_write(struct json *j, const struct span_view *span)
{
	char address[19];

	if (!span->frames_count)
		return;
	json_array_begin(j, "stack");
	for (size_t i = 0; i < span->frames_count; i++) {
		const struct frame_view *frame = &span->frames[i];

		json_object_begin(j, NULL);
		snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
		json_string(j, "address", address);
		if (frame->function) {
			json_string(j, "function", frame->function);
			if (frame->symbol)
				json_string(j, "symbol", frame->symbol);
			json_u64(j, "offset", frame->offset);
		}
		if (frame->file)
			json_string(j, "file", frame->file);
		if (frame->file && !frame->kernel)
			json_u64(j, "file_offset", frame->file_offset);
		json_bool(j, "kernel", frame->kernel);
		json_object_end(j);
	}
	json_array_end(j);
}

static void owner_write(struct json *j, const struct span_view *span)
{
	if (span->service)
		json_string(j, "service", span->service);
	if (span->host)
		json_string(j, "host", span->host);
	if (span->process)
		json_string(j, "process", span->process);
	if (span->pid)
		json_u64(j, "pid", span->pid);
	if (span->thread)
		json_string(j, "thread", span->thread);
	if (span->tid)
		json_u64(j, "tid", span->tid);
}

static void span_write(struct json *j, const struct span_view *span)
{
	json_object_begin(j, NULL);
	json_string(j, "span_id", span->span_id);
	if (span->parent_id[0])
		json_string(j, "parent_id", span->parent_id);
	json_string(j, "name", span->name);
	json_string(j, "kind", span->kind);
	owner_write(j, span);
	json_u64(j, "begin_ns", span->begin_ns);
	json_u64(j, "end_ns", span->end_ns);
	json_string(j, "begin_bound", span->begin_soft ? "soft" : "hard");
	json_string(j, "end_bound", span->end_soft ? "soft" : "hard");
	json_u64(j, "threads", span->threads);
	split_write_json(j, &span->time);
	attributes_write(j, span->attributes, span->attributes_count);
	events_write(j, span);
	frames_write(j, span);
	json_object_end(j);
}

static void trace_json_begin(void *writer, const struct terminal *t,
			     const struct source_view *source)
{
	struct trace_writer *w = writer;

	json_init(&w->json, t->file);
	json_object_begin(&w->json, NULL);
	source_write_json(&w->json, source);
	json_array_begin_lines(&w->json, "traces");
}

static int trace_json_trace(void *writer, const struct trace_view *trace)
{
	struct json *j = &((struct trace_writer *)writer)->json;

	json_object_begin(j, NULL);
	json_string(j, "trace_id", trace->trace_id);
	json_array_begin_lines(j, "spans");
	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span_view *span = trace->span(trace, i, false);

		if (!span)
			return -ENOMEM;
		span_write(j, span);
	}
	json_array_end(j);
	json_object_end(j);
	return 0;
}

static void trace_json_end(void *writer)
{
	struct json *j = &((struct trace_writer *)writer)->json;

	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

const struct trace_format trace_format_json = {
	.name = "json",
	.begin = trace_json_begin,
	.trace = trace_json_trace,
	.end = trace_json_end,
};
