/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that hand a request on in one way each, so that one rule alone finds whose a call is. A
 * request is a line with its identity. Each asks a backend twice, and is answered with a line.
 */
#ifndef RULES_H
#define RULES_H

#include "talk.h"

#define ANSWER "ok\n"
#define CALLS 2		  /* to the backend, for each request */
#define LONG_BYTES 300000 /* a request of the mode `early`, all of it */

/* A connection on which requests come, and the one that is done. */
struct asked {
	struct line line;
	size_t have; /* bytes in `came`, of requests that were read with others */
	char came[4096];
	int64_t begin_ns;
	char ident[IDENT_MAX];
	int calls_done;
	struct asked *next;
};

struct mode {
	const char *name;
	void (*run)(void); /* does not return */
};

extern const struct mode thread_modes[], pool_modes[], process_modes[], loop_modes[];
extern const struct mode uring_modes[];

/* Of the command line: where we listen, whom we ask, and how identities of ours begin. */
extern int rules_listener, rules_backend;
extern const char *rules_backend_path;
extern char rules_letter;

/* The next connection, to be freed with asked_end(). */
struct asked *asked_accept(void);
void asked_end(struct asked *a);

/* Reads the next request; false when the other end is gone. */
bool asked_read(struct asked *a);

/* A call for the request: all calls, one, and a call of no request. */
void asked_call_all(struct asked *a, const struct line *backend);
void asked_call(struct asked *a, const struct line *backend);
void call_of_none(const struct line *backend, char what);

/* Answers, and tells the ledger before. */
void asked_answer(struct asked *a);
void asked_serve(struct asked *a, const struct line *backend);

/* Writes the identity of the next call for the request. */
void asked_call_ident(struct asked *a, char *ident);

/* A thread that nobody joins. */
void thread_begin(void *(*run)(void *), void *arg);

#endif
