/* SPDX-License-Identifier: Apache-2.0 */
/* Writing texts to a terminal, or to a file. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The output of a text. */
struct terminal {
	FILE *file; /* borrowed */
	bool color;
	int width; /* columns */
	bool cut;  /* lines end at the width; otherwise only tables do */
};

/*
 * Finds the properties of a stream: colors, if it is a terminal, NO_COLOR is unset or empty,
 * and TERM is not "dumb"; and its width, or 120 columns.
 */
struct terminal terminal_of(FILE *file);

/*
 * Writes a text in exactly `width` columns, padded with spaces or cut with an ellipsis.
 * Control characters and invalid UTF-8 become '?', since names come from programs that may
 * try to harm a terminal.
 */
void terminal_cell(const struct terminal *t, const char *text, int width);
/* The same, but cut in the middle, so that names which differ at their end stay different. */
void terminal_cell_ends(const struct terminal *t, const char *text, int width);
/* Writes a name in the first column of a table: cut in this way on a terminal, whole in a file. */
void terminal_name(const struct terminal *t, const char *text, int width);
/* Writes a text without a width; returns its number of columns. */
int terminal_text(const struct terminal *t, const char *text);
void terminal_spaces(const struct terminal *t, int count);
/* Writes the last text of a line: cut to `room` columns if lines end at the width. */
void terminal_rest(const struct terminal *t, const char *text, int room);
/* The same, but cut at its begin. */
void terminal_rest_end(const struct terminal *t, const char *text, int room);
/*
 * Writes a text that begins in this column, in as many lines as the width requires. Lines are
 * broken between words, and have at least 20 columns.
 */
void terminal_words(const struct terminal *t, const char *text, int column);
/*
 * Writes a line "head text". On a terminal, further lines are indented below the text. The head
 * ends with a space.
 */
__attribute__((format(printf, 3, 4))) void
terminal_sentence(const struct terminal *t, const char *head, const char *format, ...);
/* The number of columns of a text. */
int terminal_columns(const char *text);

/* Begin and end a 256-color foreground; they do nothing without colors. */
void terminal_color(const struct terminal *t, int color);
void terminal_reset(const struct terminal *t);

#endif
