/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of `fathom top`: its keys, and the signals that end or stop it.
 * One for a process, since signals are.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <termios.h>

#include "record/record.h"

struct screen {
	bool live; /* a terminal, both ways */
	struct termios before;
	bool quit;
	const char *by;	  /* NULL: services, names and processes */
	const char *sort; /* NULL: as suits the rows */
};

/*
 * Has signals end the waiting instead of the process, and an output that is gone
 * be an error of writing. To be called before other threads begin: they inherit
 * what is blocked.
 */
void screen_signals(void);

/* Takes over the terminal if there is one, also after Ctrl-Z; the text that was there comes back.
 */
void screen_open(struct screen *s);
void screen_close(struct screen *s);

/* Lines that there is room for. */
int screen_lines(void);

/* Overwrites the screen line by line, so that nothing flickers. */
void screen_draw(const char *text, int lines);

/* Waits until a time, a signal, or a key; true if all is to be shown anew. */
bool screen_wait(struct screen *s, u64 until_ns);

/* Whether somebody wants it to end. */
bool screen_ended(const struct screen *s);

/*
 * To be called last: if the reader of the output is gone, ends the process by
 * SIGPIPE, as of any program that writes to a pipe.
 */
void screen_pipe_end(void);

#endif
