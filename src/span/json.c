/* SPDX-License-Identifier: Apache-2.0 */
#include "span/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "span/attributes.h"

void split_write_json(struct json *j, const struct split *split)
{
	json_object_begin(j, "time");
#define P(part, value, what) json_s64(j, #part "_ns", split->ns[value]);
	SPLIT_PARTS(P)
#undef P
	json_object_end(j);
}

static void events_write(struct json *j, const struct span *span)
{
	json_array_begin(j, "events");
	for (size_t i = 0; i < span->events_count; i++) {
		const struct event *event = &span->events[i];

		json_object_begin(j, NULL);
		json_u64(j, "time_ns", event->time_ns);
		json_string(j, "name", event->name);
		if (event->level != EVENT_NO_LEVEL)
			json_string(j, "level", level_name(event->level));
		attributes_write_json(j, "attributes", event->attributes, event->attributes_count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void links_write(struct json *j, const struct span *span)
{
	if (!span->links_count)
		return;
	json_array_begin(j, "links");
	for (size_t i = 0; i < span->links_count; i++) {
		const struct link *link = &span->links[i];

		json_object_begin(j, NULL);
		json_string(j, "trace_id", link->trace_id);
		json_string(j, "span_id", link->span_id);
		attributes_write_json(j, "attributes", link->attributes, link->attributes_count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void frames_write(struct json *j, const struct span *span)
{
	char address[19];

	if (!span->frames_count)
		return;
	json_array_begin(j, "stack");
	for (size_t i = 0; i < span->frames_count; i++) {
		const struct frame *frame = &span->frames[i];

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
	if (span->frames_cut)
		json_bool(j, "stack_cut", true);
}

static void owner_write(struct json *j, const struct span *span)
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

void span_write_json(struct json *j, const struct span *span)
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
	attributes_write_json(j, "attributes", span->attributes, span->attributes_count);
	events_write(j, span);
	links_write(j, span);
	frames_write(j, span);
	json_object_end(j);
}
