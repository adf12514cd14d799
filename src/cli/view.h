/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every answer carries beside its rows: how its clock relates to the
 * time of day, and what is missing. Plain values; whoever fills a view owns
 * all that it points to, and writers only borrow it.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

/* One relation of a host's monotonic clock to Unix time. */
struct clock_view {
	const char *host;
	const char *boot_id;
	uint64_t monotonic_ns;
	uint64_t unix_ns;
};

/* Records that are absent; their total is the sum. */
struct lost_view {
	uint64_t buffer;
	uint64_t recursion;
	uint64_t application;
	uint64_t damaged;
};

struct gap_view {
	uint64_t from_ns;
	uint64_t to_ns;
};

struct source_view {
	const struct clock_view *clocks; /* in the order of time */
	size_t clocks_count;
	struct lost_view lost;
	uint64_t incomplete; /* fields that are cut or could not be read */
	const char *missing; /* tracepoints that recorders had to do without, "a,b"; NULL: none */
	const struct gap_view *gaps;
	size_t gaps_count;
	unsigned int filters; /* FILTER_*: what was left out on request */
	uint64_t steal_ns;    /* what the hypervisor took from the CPUs in the range */
	uint64_t cpu_ns;      /* what was recorded of it times the number of CPUs; 0 if not known */
};

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

uint64_t lost_total(const struct lost_view *lost);

/* "clock", "lost", "incomplete", "missing" if anything is, "gaps"; in an object that is begun. */
void source_write_json(struct json *j, const struct source_view *source);
void lost_write_json(struct json *j, const struct lost_view *lost);

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
