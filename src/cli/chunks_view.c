/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/chunks_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

/* The columns before the path. */
enum { BEGIN, RANGE, RECORDS, BYTES, LOST, COLUMNS };

struct cells {
	char text[COLUMNS][32];
};

static void cells_make(struct cells *c, const struct chunk_row *row)
{
	char text[UNITS_TEXT_BYTES];

	snprintf(c->text[BEGIN], sizeof(c->text[0]), "%.9f", (double)row->begin_ns / 1e9);
	snprintf(c->text[RANGE], sizeof(c->text[0]), "%s",
		 units_format_ns((int64_t)(row->end_ns - row->begin_ns), text));
	snprintf(c->text[RECORDS], sizeof(c->text[0]), "%" PRIu64, row->records);
	snprintf(c->text[BYTES], sizeof(c->text[0]), "%s", units_format_bytes(row->bytes, text));
	snprintf(c->text[LOST], sizeof(c->text[0]), "%" PRIu64, lost_total(&row->lost));
}

/* On a terminal, columns are only as wide as their contents, to leave room for the path. */
static void widths_find(const struct terminal *t, const struct chunk_row *rows, size_t count,
			int widths[COLUMNS])
{
	static const int usual[COLUMNS] = {18, 11, 12, 9, 10};
	static const int heads[COLUMNS] = {9, 5, 7, 5, 4};

	for (int i = 0; i < COLUMNS; i++)
		widths[i] = t->cut ? heads[i] : usual[i];
	for (size_t n = 0; n < count && t->cut; n++) {
		struct cells c;

		cells_make(&c, &rows[n]);
		for (int i = 0; i < COLUMNS; i++)
			if ((int)strlen(c.text[i]) > widths[i])
				widths[i] = (int)strlen(c.text[i]);
	}
}

static void chunk_write_text(const struct terminal *t, const struct chunk_row *row,
			     const int widths[COLUMNS])
{
	struct cells c;
	int room = t->width;

	cells_make(&c, row);
	for (int i = 0; i < COLUMNS; i++)
		room -= fprintf(t->file, "%*s ", widths[i], c.text[i]);
	room -= fprintf(t->file, " %-9s  ", row->state);
	terminal_rest_end(t, row->path, room); /* the end of the path identifies the chunk */
	putc('\n', t->file);
}

void chunks_write_text(const struct terminal *t, const struct chunk_row *rows, size_t count)
{
	uint64_t records = 0, bytes = 0, lost = 0;
	char size[UNITS_TEXT_BYTES];
	int widths[COLUMNS];

	widths_find(t, rows, count, widths);
	fprintf(t->file, "%*s %*s %*s %*s %*s  %-9s  %s\n", widths[BEGIN], "begin (s)",
		widths[RANGE], "range", widths[RECORDS], "records", widths[BYTES], "bytes",
		widths[LOST], "lost", "state", "path");
	for (size_t i = 0; i < count; i++) {
		chunk_write_text(t, &rows[i], widths);
		records += rows[i].records;
		bytes += rows[i].bytes;
		lost += lost_total(&rows[i].lost);
	}
	fprintf(t->file, "%zu chunk%s, %" PRIu64 " records, %s, %" PRIu64 " lost\n", count,
		count == 1 ? "" : "s", records, units_format_bytes(bytes, size), lost);
}
