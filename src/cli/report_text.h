/* SPDX-License-Identifier: Apache-2.0 */
/* A report as text: an aligned table with a bar for each row. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include "answer/report.h"
#include "cli/view.h"

/* Writes the text of the first column: the key, and its process or thread. */
void row_label(const struct row *row, char *text, size_t size);

/*
 * The text after the bar, "disk 62% user 30%  2 errors": the largest parts, up to `most` of those
 * of 5 % and more. 0 asks for all of these, and at least three parts. The caller frees it; NULL if
 * out of memory.
 */
char *row_numbers(const struct row *row, int most);

/*
 * Writes that text with as many parts as fit into `room` columns, if lines end at the width. False
 * if a part of 5 % or more, or the errors, had no room.
 */
bool row_numbers_write(const struct terminal *t, const struct row *row, int room);

/*
 * Writes the table. On a terminal it fits the width: the bar shrinks, names are cut, and columns
 * are left out, which the last line says. In a file no name is cut.
 */
void report_write_text(const struct terminal *t, const struct report *report);

#endif
