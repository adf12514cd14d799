/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/chunks_view.h"

#include <inttypes.h>

#include "base/units.h"

void chunks_write_json(FILE *file, const struct chunk_row *rows, size_t count)
{
	struct json j;

	json_init(&j, file);
	json_object_begin(&j, NULL);
	json_array_begin_lines(&j, "chunks");
	for (size_t i = 0; i < count; i++) {
		json_object_begin(&j, NULL);
		json_string(&j, "path", rows[i].path);
		json_u64(&j, "begin_ns", rows[i].begin_ns);
		json_u64(&j, "end_ns", rows[i].end_ns);
		json_u64(&j, "records", rows[i].records);
		json_u64(&j, "bytes", rows[i].bytes);
		lost_write_json(&j, &rows[i].lost);
		json_u64(&j, "incomplete", rows[i].incomplete);
		json_string(&j, "state", rows[i].state);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_end(&j);
}

static void chunk_write_text(const struct terminal *t, const struct chunk_row *row)
{
	char range[UNITS_TEXT_BYTES], size[UNITS_TEXT_BYTES];

	fprintf(t->file, "%18.9f %11s %12" PRIu64 " %9s %10" PRIu64 "  %-9s  ",
		(double)row->begin_ns / 1e9,
		units_format_ns((int64_t)(row->end_ns - row->begin_ns), range), row->records,
		units_format_bytes(row->bytes, size), lost_total(&row->lost), row->state);
	terminal_text(t, row->path);
	putc('\n', t->file);
}

void chunks_write_text(const struct terminal *t, const struct chunk_row *rows, size_t count)
{
	uint64_t records = 0, bytes = 0, lost = 0;
	char size[UNITS_TEXT_BYTES];

	fprintf(t->file, "%18s %11s %12s %9s %10s  %-9s  %s\n", "begin (s)", "range", "records",
		"bytes", "lost", "state", "path");
	for (size_t i = 0; i < count; i++) {
		chunk_write_text(t, &rows[i]);
		records += rows[i].records;
		bytes += rows[i].bytes;
		lost += lost_total(&rows[i].lost);
	}
	fprintf(t->file, "%zu chunk%s, %" PRIu64 " records, %s, %" PRIu64 " lost\n", count,
		count == 1 ? "" : "s", records, units_format_bytes(bytes, size), lost);
}
