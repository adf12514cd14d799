/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on a terminal that says how far a recording is read: begun after half a second, rewritten,
 * and erased at the end. Where the stream is no terminal, nothing is written.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "answer/load.h"

struct progress_line {
	FILE *file;	  /* borrowed */
	bool terminal;	  /* the file is one that can erase a line */
	bool shown;	  /* the line stands there */
	uint64_t next_ns; /* not before this time is the line written again */
};

/* A line that will stand on `file`, which is borrowed. */
struct progress_line progress_line_begin(FILE *file);

/* Hears of the progress of loading, for struct source_options; `line` must outlive it. */
struct load_progress progress_line_of(struct progress_line *line);

/* Prints notices as notice_stderr does, in place of the line. */
struct notice progress_line_notice(struct progress_line *line);

/* Erases the line, if it stands there. It may be shown again. */
void progress_line_end(struct progress_line *line);

#endif
