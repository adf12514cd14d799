/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a terminal, or for a file that takes the place of one. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "answer/source.h"

/* Where a text goes. */
struct terminal {
	FILE *file; /* borrowed */
	bool color;
	int width; /* columns */
	bool cut;  /* lines end at the width; else only tables keep to it */
};

/*
 * What is known of a stream: colors if it is a terminal, NO_COLOR is unset or
 * empty, and TERM is not "dumb"; its width, or 120 columns.
 */
struct terminal terminal_of(FILE *file);

/* What is missing, in lines for people; nothing if nothing is. */
void source_write_text(const struct terminal *t, const struct source_view *source);

/*
 * A text in exactly `width` columns, padded with spaces or cut with an
 * ellipsis. Control characters and invalid UTF-8 become '?': names come from
 * programs that may not be kind to terminals.
 */
void terminal_cell(const struct terminal *t, const char *text, int width);
/* The same, but cut in the middle: names that differ at their end stay different. */
void terminal_cell_ends(const struct terminal *t, const char *text, int width);
/* A name in the first column of a table: cut so on a terminal; in a file it stands out. */
void terminal_name(const struct terminal *t, const char *text, int width);
/* The same without a width; returns the number of columns. */
int terminal_text(const struct terminal *t, const char *text);
void terminal_spaces(const struct terminal *t, int count);
/* The last text of a line: cut to `room` columns where lines must end at the width. */
void terminal_rest(const struct terminal *t, const char *text, int room);
/* The same, but what differs is at its end: the begin is left out. */
void terminal_rest_end(const struct terminal *t, const char *text, int room);
/*
 * A text that begins in this column, of as many lines as the width asks for: broken between words,
 * never into fewer than 20 columns.
 */
void terminal_words(const struct terminal *t, const char *text, int column);
/*
 * A line "head text": on a terminal it goes on in further lines, below its text. The head ends
 * with a space.
 */
__attribute__((format(printf, 3, 4))) void
terminal_sentence(const struct terminal *t, const char *head, const char *format, ...);
/* Columns that a text takes. */
int terminal_columns(const char *text);

/* Begin and end of a 256-color foreground; nothing without colors. */
void terminal_color(const struct terminal *t, int color);
void terminal_reset(const struct terminal *t);

#endif
