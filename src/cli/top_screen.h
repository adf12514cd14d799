/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of `fathom top`: its keys, and the signals that end or stop it.
 * There is one for each process, as for signals.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <termios.h>

#include "record/record.h"

struct screen {
	bool live; /* input and output are a terminal */
	struct termios before;
	bool quit;
	const char *by;	  /* NULL: services, names and processes */
	const char *sort; /* NULL: as suits the rows */
};

/*
 * Makes signals end the waiting instead of the process, and turns a closed output into an
 * error of writing. Call this before other threads begin: they inherit the blocked
 * signals.
 */
void screen_signals(void);

/* Takes over the terminal if there is one, also after Ctrl-Z. Its previous text comes back later.
 */
void screen_open(struct screen *s);
void screen_close(struct screen *s);

/* The number of lines of the screen. */
int screen_lines(void);

/* Overwrites the screen line by line, so that nothing flickers. */
void screen_draw(const char *text, int lines);

/* Waits until a time, a signal, or a key. True if everything must be drawn again. */
bool screen_wait(struct screen *s, u64 until_ns);

/* Whether a key or a signal asked to quit. */
bool screen_ended(const struct screen *s);

/*
 * Call this last. If the reader of the output is gone, ends the process by SIGPIPE, like any
 * program that writes to a pipe.
 */
void screen_pipe_end(void);

#endif
