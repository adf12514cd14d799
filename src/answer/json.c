/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/json.h"

#include <errno.h>

#include "span/json.h"

/* ---- rows ---- */

static void row_write_members(struct json *j, const struct row *row)
{
	json_string(j, "key", row->key);
	if (row->host)
		json_string(j, "host", row->host);
	if (row->service)
		json_string(j, "service", row->service);
	if (row->process)
		json_string(j, "process", row->process);
	if (row->pid)
		json_u64(j, "pid", row->pid);
	if (row->thread)
		json_string(j, "thread", row->thread);
	if (row->tid)
		json_u64(j, "tid", row->tid);
	json_u64(j, "count", row->count);
	if (!(row->absent & ROW_NO_ERRORS))
		json_u64(j, "errors", row->errors);
	if (!(row->absent & ROW_NO_DURATIONS))
		json_u64(j, "total_ns", row->total_ns);
	if (!(row->absent & (ROW_NO_DURATIONS | ROW_NO_PERCENTILES))) {
		json_u64(j, "p50_ns", row->p50_ns);
		json_u64(j, "p95_ns", row->p95_ns);
		json_u64(j, "p99_ns", row->p99_ns);
		json_u64(j, "max_ns", row->max_ns);
	}
	if (!(row->absent & ROW_NO_SPLIT))
		split_write_json(j, &row->time);
	if (row->program)
		json_string(j, "program", row->program);
	if (row->command)
		json_string(j, "command", row->command);
	if (row->read_bytes || row->written_bytes) {
		json_u64(j, "read_bytes", row->read_bytes);
		json_u64(j, "written_bytes", row->written_bytes);
	}
}

/* Writes a row, whose values of two keys are named. */
static void row_write(struct json *j, const struct row *row, const struct key *const keys[2])
{
	json_object_begin(j, NULL);
	row_write_members(j, row);
	if (keys && keys[1]) {
		json_object_begin(j, "keys");
		for (int i = 0; i < 2; i++)
			json_string(j, keys[i]->name, row->values[i]);
		json_object_end(j);
	}
	json_object_end(j);
}

void row_write_json(struct json *j, const struct row *row)
{
	row_write(j, row, NULL);
}

void report_write_json(struct json *j, const struct report *report)
{
	json_object_begin(j, NULL);
	if (!report->hosts) {
		json_u64(j, "from_ns", report->from_ns);
		json_u64(j, "to_ns", report->to_ns);
	}
	source_write_json(j, &report->source);
	json_array_begin_lines(j, "rows");
	for (size_t i = 0; i < report->rows_count; i++)
		row_write(j, &report->rows[i], report->keys);
	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

void live_write_json(struct json *j, const struct live *live)
{
	json_object_begin(j, NULL);
	json_u64(j, "from_ns", live->from_ns);
	json_u64(j, "to_ns", live->to_ns);
	source_write_json(j, &live->source);
	json_object_begin(j, "by");
	for (size_t i = 0; i < live->parts_count; i++) {
		json_array_begin(j, live->parts[i].by);
		for (size_t n = 0; n < live->parts[i].rows_count; n++)
			row_write_json(j, &live->parts[i].rows[n]);
		json_array_end(j);
	}
	json_object_end(j);
	json_object_end(j);
	json_end(j);
}

/* ---- traces ---- */

void traces_json_begin(struct json *j, const struct source_view *source)
{
	json_object_begin(j, NULL);
	source_write_json(j, source);
	json_array_begin_lines(j, "traces");
}

int trace_write_json(struct json *j, const struct trace *trace)
{
	json_object_begin(j, NULL);
	json_string(j, "trace_id", trace->trace_id);
	if (trace->host)
		json_string(j, "host", trace->host);
	json_array_begin_lines(j, "spans");
	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span *span = trace->span(trace, i, false);

		if (!span)
			return -ENOMEM;
		span_write_json(j, span);
	}
	json_array_end(j);
	json_object_end(j);
	return 0;
}

void traces_json_end(struct json *j)
{
	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

/* ---- chunks ---- */

void chunks_write_json(struct json *j, const struct chunk_row *rows, size_t count)
{
	json_object_begin(j, NULL);
	json_array_begin_lines(j, "chunks");
	for (size_t i = 0; i < count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "path", rows[i].path);
		json_u64(j, "begin_ns", rows[i].begin_ns);
		json_u64(j, "end_ns", rows[i].end_ns);
		json_u64(j, "records", rows[i].records);
		json_u64(j, "bytes", rows[i].bytes);
		lost_write_json(j, &rows[i].lost);
		json_u64(j, "incomplete", rows[i].incomplete);
		json_string(j, "state", rows[i].state);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

void sealed_write_json(struct json *j, const char *path)
{
	json_object_begin(j, NULL);
	json_string(j, "path", path);
	json_object_end(j);
	json_end(j);
}
