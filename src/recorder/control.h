/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Unix socket `.control` in a directory, by which `fathom rotate`, `fathom
 * snapshot`, `fathom detail` and `fathom stop` talk to its recorder. A request is a line
 * ("rotate"). The answer is a line, too: the path of the sealed chunk, or "error" and the reason.
 * The request "stop" is answered when the recording is over, by control_close().
 */
#ifndef RECORDER_CONTROL_H
#define RECORDER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "chunk/chunk.h"

struct control;

/*
 * The side of the recorder. Listens in `dir` (through the descriptor in `hold`, unless that is
 * NULL) for one kind of request, "rotate" or "snapshot" (static text), and refuses others. 0 or a
 * negative errno. Free it with control_close(). Only control_sealed() may be called by another
 * thread.
 */
int control_open(struct control **out, const char *dir, const struct recording_hold *hold,
		 const char *request, struct error *e);

/*
 * Answers another kind of request at once: fills in the answer, a line. False: it is none of that
 * kind.
 */
typedef bool control_answer_fn(void *arg, const char *request, char *text, size_t size);

/* Requests that control_open() does not name are given to this function. */
void control_also(struct control *c, control_answer_fn *answer, void *arg);

/*
 * Accepts and reads requests, answers requests whose chunk is sealed, and drops a client that asks
 * for nothing within a second. Never waits.
 */
int control_serve(struct control *c, struct error *e);

/* A descriptor that is readable when a client connects. The caller must not close it. */
int control_listener(const struct control *c);

/* Whether a client is connected: the next control_serve() is then due soon. */
bool control_is_busy(const struct control *c);

/* True if a request has arrived since the last call: the caller ends the chunk now. */
bool control_wants_rotation(struct control *c);

/* True once a request has arrived that ends the recording. */
bool control_wants_end(const struct control *c);

/* A chunk has ended and will be sealed. Call this once for each chunk. */
void control_rotates(struct control *c);

/* Answers the requests that wait for the next chunk, of which there is none, with the reason. */
void control_refuses(struct control *c, const char *why);

/* A chunk was sealed at `path`, or (NULL) could not be. Any thread may call this. */
void control_sealed(struct control *c, const char *path);

/* Answers the requests whose chunk is sealed, and closes the socket. NULL is allowed. */
void control_close(struct control *c);

struct control_request {
	const char *line;
	bool flight;		 /* only a flight recorder answers this request */
	unsigned int patience_s; /* how long to wait; 0: two minutes, for a slow disk */
};

/*
 * The side of the client: sends the request, waits, and writes the text of the answer. 0,
 * -ETIMEDOUT without an answer in time, or another negative errno.
 */
int control_ask(const char *dir, const struct control_request *request, char *answer, size_t size,
		struct error *e);

/* Makes the recorder of `dir` seal its chunk, and waits for that. Errors as above. */
int control_rotate(const char *dir, struct error *e);

#endif
