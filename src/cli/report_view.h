/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as it is shown. Whoever fills it owns all that it points to.
 */
#ifndef CLI_REPORT_VIEW_H
#define CLI_REPORT_VIEW_H

#include "cli/view.h"
#include "span/split.h"

/* report_row.absent: keys that do not apply to a row */
#define REPORT_NO_ERRORS 1
#define REPORT_NO_DURATIONS 2 /* neither total nor percentiles: events */
#define REPORT_NO_SPLIT 4
#define REPORT_NO_PERCENTILES 8 /* a sum with nothing to rank: causes */

struct report_row {
	const char *key;
	const char *service; /* NULL: does not apply, as below */
	const char *process;
	uint32_t pid; /* 0: does not apply */
	const char *thread;
	uint32_t tid; /* 0: does not apply */
	unsigned int absent;
	uint64_t count;
	uint64_t errors;
	uint64_t total_ns;
	uint64_t p50_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	struct split time;
};

struct report_view {
	const char *by; /* what the rows are: "name", "process", ... */
	uint64_t from_ns;
	uint64_t to_ns;
	struct source_view source;
	const char *sort;	       /* what that is */
	const struct report_row *rows; /* in the order in which they are shown */
	size_t rows_count;
};

/* The JSON of `fathom report --json`, with a line for each row. */
void report_write_json(FILE *file, const struct report_view *report);

/* One row of it. */
void report_row_write_json(struct json *j, const struct report_row *row);

/* What stands in the first column: the key, and which process or thread it is. */
void report_row_label(const struct report_row *row, char *text, size_t size);

/* Nothing was counted, and no time passed: tables leave the row out. */
bool report_row_is_void(const struct report_row *row);

/*
 * "disk 62% user 30%  2 errors": the largest parts, `most` of those of 5 % and more; 0: all of
 * these, and three at least. The caller frees it; NULL without memory.
 */
char *report_row_numbers(const struct report_row *row, int most);

/*
 * Writes that, with as many parts as fit into `room` columns where lines end at the width. False
 * if a part of 5 % or more, or the errors, had no room.
 */
bool report_row_numbers_write(const struct terminal *t, const struct report_row *row, int room);

/*
 * An aligned table with a bar for each row. On a terminal it fits the width: the
 * bar shrinks, names are cut, and columns are left out, which the last line says. In a file no
 * name is cut.
 */
void report_write_text(const struct terminal *t, const struct report_view *report);

#endif
