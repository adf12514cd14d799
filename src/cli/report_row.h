/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a row, for the tables of report and top. */
#ifndef CLI_REPORT_ROW_H
#define CLI_REPORT_ROW_H

#include "answer/rows.h"
#include "cli/terminal.h"

#define ROW_LABEL_BYTES 2048

/*
 * Writes the text of the first column: the key, and its process or thread. A process is told by its
 * command, which is shortened to about `columns` columns. Of rows by two keys, `second` says which
 * of the two values is written.
 */
void row_label(const struct row *row, int columns, bool second, char *text, size_t size);

/* The time of a row without idle time. */
static inline uint64_t row_work_ns(const struct row *row)
{
	return row->total_ns - (uint64_t)row->time.ns[SPLIT_idle];
}

/*
 * The text after the bar, "disk 62% user 30%  2 ENOENT": the largest parts of the time that is not
 * idle, up to `most` of those of 5 % and more. 0 asks for all of these, and at least three parts.
 * The caller frees it; NULL if out of memory.
 */
char *row_numbers(const struct row *row, int most);

/*
 * Writes that text with as many parts as fit into `room` columns, if lines end at the width. False
 * if a part of 5 % or more, or the errors, had no room.
 */
bool row_numbers_write(const struct terminal *t, const struct row *row, int room);

#endif
