/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/json.h"

#include <errno.h>

#include "map/unknown.h"
#include "span/json.h"

/* ---- rows ---- */

/* Writes how often calls failed, by the name of the error. */
static void errnos_write(struct json *j, const struct row *row)
{
	if (!row->errnos_count)
		return;
	json_object_begin(j, "errnos");
	for (size_t i = 0; i < row->errnos_count; i++)
		json_u64(j, row_errno_name(&row->errnos[i]), row->errnos[i].count);
	json_object_end(j);
}

static void unknown_write(struct json *j, const struct row *row)
{
	if (!row->unknown)
		return;
	json_array_begin(j, "unknown");
	for (unsigned int i = 0; unknown_reason_name(i); i++)
		if (row->unknown & 1u << i)
			json_string(j, NULL, unknown_reason_name(i));
	json_array_end(j);
}

static void addresses_write(struct json *j, const struct row *row)
{
	if (!row->addresses_count)
		return;
	json_array_begin(j, "addresses");
	for (size_t i = 0; i < row->addresses_count; i++)
		json_string(j, NULL, row->addresses[i]);
	json_array_end(j);
}

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
	if (row->with_callees_ns)
		json_u64(j, "with_callees_ns", row->with_callees_ns);
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
	errnos_write(j, row);
	if (row->connections)
		json_u64(j, "connections", row->connections);
	if (row->section)
		json_string(j, "of", row_section_name(row->section));
	unknown_write(j, row);
	if (row->network_namespace)
		json_u64(j, "network_namespace", row->network_namespace);
	if (row->own_ns)
		json_u64(j, "own_ns", row->own_ns);
	if (row->caller) {
		json_string(j, "caller", row->caller);
		json_string(j, "callee", row->callee);
		json_u64(j, "unsure", row->unsure);
	}
	if (row->mount_namespace)
		json_u64(j, "mount_namespace", row->mount_namespace);
	addresses_write(j, row);
}

/* Each document says by which version of docs/schema it is written. */
#define SCHEMA_VERSION 1

void schema_write_json(struct json *j)
{
	json_u64(j, "schema", SCHEMA_VERSION);
}

/* Writes a point in time also as Unix time, if that is known. */
static void unix_write(struct json *j, const char *key, const struct source_view *source, u64 ns)
{
	u64 unix_ns = clocks_unix_ns(source->clocks, source->clocks_count, ns);

	if (unix_ns)
		json_u64(j, key, unix_ns);
}

/* Writes a row, whose values of two keys are named. */
static void row_write(struct json *j, const struct row *row, const struct key *const keys[2],
		      bool document)
{
	json_object_begin(j, NULL);
	if (document)
		schema_write_json(j);
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
	row_write(j, row, NULL, false);
}

/* Writes the rest of the host, if there is one. */
static void rest_write(struct json *j, const struct report *report)
{
	if (!report->rest_count)
		return;
	json_object_begin(j, "rest");
	json_string(j, "by", "process");
	json_u64(j, "total", report->rest_total);
	json_array_begin_lines(j, "rows");
	for (size_t i = 0; i < report->rest_count; i++)
		row_write(j, &report->rest[i], NULL, false);
	json_array_end(j);
	json_object_end(j);
}

void report_write_json(struct json *j, const struct report *report)
{
	json_object_begin(j, NULL);
	schema_write_json(j);
	if (!report->hosts) {
		json_u64(j, "from_ns", report->from_ns);
		json_u64(j, "to_ns", report->to_ns);
		unix_write(j, "from_unix_ns", &report->source, report->from_ns);
		unix_write(j, "to_unix_ns", &report->source, report->to_ns);
	}
	source_write_json(j, &report->source);
	json_array_begin_lines(j, "rows");
	for (size_t i = 0; i < report->rows_count; i++)
		row_write(j, &report->rows[i], report->keys, false);
	json_array_end(j);
	rest_write(j, report);
	json_object_end(j);
	json_end(j);
}

void report_write_json_lines(struct json *j, const struct report *report)
{
	for (size_t i = 0; i < report->rows_count; i++) {
		row_write(j, &report->rows[i], report->keys, true);
		json_end(j);
	}
}

void live_write_json(struct json *j, const struct live *live)
{
	json_object_begin(j, NULL);
	schema_write_json(j);
	json_u64(j, "from_ns", live->from_ns);
	json_u64(j, "to_ns", live->to_ns);
	unix_write(j, "from_unix_ns", &live->source, live->from_ns);
	unix_write(j, "to_unix_ns", &live->source, live->to_ns);
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
	schema_write_json(j);
	source_write_json(j, source);
	json_array_begin_lines(j, "traces");
}

void requests_json_begin(struct json *j, const struct source_view *source,
			 const struct clock_offset_view *offsets, size_t count)
{
	json_object_begin(j, NULL);
	schema_write_json(j);
	source_write_json(j, source);
	json_array_begin(j, "clock_offsets");
	for (size_t i = 0; i < count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "host", offsets[i].host);
		json_string(j, "against", offsets[i].against);
		json_s64(j, "min_ns", offsets[i].min_ns);
		json_s64(j, "max_ns", offsets[i].max_ns);
		json_u64(j, "at_ns", offsets[i].at_ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_array_begin_lines(j, "traces");
}

/* Writes from when to when the spans of a trace last, by both clocks. */
static void trace_times_write(struct json *j, const struct trace *trace)
{
	u64 begin_ns = UINT64_MAX, end_ns = 0;
	u64 begin_unix_ns, end_unix_ns;

	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span_position at = trace->position(trace, i);

		if (at.begin_ns + (u64)at.shift_ns < begin_ns)
			begin_ns = at.begin_ns + (u64)at.shift_ns;
		if (at.end_ns + (u64)at.shift_ns > end_ns)
			end_ns = at.end_ns + (u64)at.shift_ns;
	}
	if (!trace->spans_count)
		return;
	json_u64(j, "begin_ns", begin_ns);
	json_u64(j, "end_ns", end_ns);
	begin_unix_ns = clocks_unix_ns(trace->clocks, trace->clocks_count, begin_ns);
	end_unix_ns = clocks_unix_ns(trace->clocks, trace->clocks_count, end_ns);
	if (!begin_unix_ns || !end_unix_ns)
		return;
	json_u64(j, "begin_unix_ns", begin_unix_ns);
	json_u64(j, "end_unix_ns", end_unix_ns);
}

static int trace_write(struct json *j, const struct trace *trace, bool document)
{
	json_object_begin(j, NULL);
	if (document)
		schema_write_json(j);
	json_string(j, "trace_id", trace->trace_id);
	if (trace->host)
		json_string(j, "host", trace->host);
	if (document)
		json_array_begin(j, "spans");
	else
		json_array_begin_lines(j, "spans");
	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span *span = trace->span(trace, i, false);

		if (!span)
			return -ENOMEM;
		span_write_json(j, span);
	}
	json_array_end(j);
	trace_times_write(j, trace);
	if (trace->left_out) {
		json_object_begin(j, "left_out");
		json_u64(j, "count", trace->left_out);
		json_u64(j, "total_ns", trace->left_out_ns);
		json_object_end(j);
	}
	json_object_end(j);
	return 0;
}

int trace_write_json(struct json *j, const struct trace *trace)
{
	return trace_write(j, trace, false);
}

int trace_write_json_line(struct json *j, const struct trace *trace)
{
	int err = trace_write(j, trace, true);

	return err ? err : json_end(j);
}

void requests_json_end(struct json *j, const struct critical_answer *critical)
{
	json_array_end(j);
	if (critical)
		critical_write_json(j, critical);
	json_object_end(j);
	json_end(j);
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
	schema_write_json(j);
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
		if (rows[i].begin_unix_ns) {
			json_u64(j, "begin_unix_ns", rows[i].begin_unix_ns);
			json_u64(j, "end_unix_ns", rows[i].end_unix_ns);
		}
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	json_end(j);
}

void sealed_write_json(struct json *j, const char *path)
{
	json_object_begin(j, NULL);
	schema_write_json(j);
	json_string(j, "path", path);
	json_object_end(j);
	json_end(j);
}
