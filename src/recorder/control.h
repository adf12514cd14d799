/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How `fathom rotate` and `fathom snapshot` talk to the recorder of a directory:
 * a Unix socket `.control` in it. A request is a line ("rotate"), the answer one
 * too: the path of the sealed chunk, or "error" and why.
 */
#ifndef RECORDER_CONTROL_H
#define RECORDER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "chunk/chunk.h"

struct control;

/*
 * The recorder's side: listens in `dir` (by way of `hold`, if that is not NULL) for one kind of
 * request ("rotate" or "snapshot", a static text), and refuses others. Free with control_close().
 */
int control_open(struct control **out, const char *dir, const struct recording_hold *hold,
		 const char *request, struct error *e);

/*
 * Accepts and reads requests, answers those that are done, drops whoever has asked for nothing
 * within a second. Never waits.
 */
int control_serve(struct control *c, struct error *e);

/* What is readable when somebody comes; the caller's to wait for, not to close. */
int control_listener(const struct control *c);

/* Whether somebody is being served: the next control_serve() is due soon. */
bool control_is_busy(const struct control *c);

/* True if a request came since the last call: end the chunk now. */
bool control_wants_rotation(struct control *c);

/* A chunk is ended and will be sealed: call it once for each. */
void control_rotates(struct control *c);

/* No chunk comes of the requests that wait for the next one: they are told so. */
void control_refuses(struct control *c);

/* A chunk was sealed (NULL: could not be); may be called by another thread. */
void control_sealed(struct control *c, const char *path);

/* Answers what is left, closes. NULL is fine. */
void control_close(struct control *c);

struct control_request {
	const char *line;
	bool flight;		 /* only a flight recorder answers it */
	unsigned int patience_s; /* for the answer; 0: two minutes, as long as a slow disk takes */
};

/* The client's side: asks, waits, and gives the answer's text. -ETIMEDOUT if there is none. */
int control_ask(const char *dir, const struct control_request *request, char *answer, size_t size,
		struct error *e);

#endif
