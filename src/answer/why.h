/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a process do at an instant, in words: since when each waits,
 * for whom, and what that one does.
 */
#ifndef ANSWER_WHY_H
#define ANSWER_WHY_H

#include "answer/critical.h"

#define WHY_THREADS_MOST 10000 /* of a process; further ones are counted, but not looked at */

/* A thread, or below it the one that it waits for: "nginx (pid 7)" "has waited" 3 ms "for ...". */
struct why_line {
	const char *host; /* NULL: not known */
	struct critical_who who;
	const char *state; /* "waiting", "runnable", "running", "ended", "unknown" */
	const char *cause; /* waiting: a part of a time split, "idle" for new work; else NULL */
	const char *subject, *verb, *rest;
	u64 since_ns; /* by the clock of its host; 0: not known */
	u64 ns;	      /* for so long */
	u32 depth;    /* 0: a thread of the process; 1: for whom that waits, and so on */
	bool idle;    /* it waits for new work */
};

/* A thread with those for whom it waits: lines [first, end). */
struct why_chain {
	size_t first, end;
	size_t alike; /* further threads whose lines say the same */
};

/* Starts with all zero. */
struct why_answer {
	const char *host; /* NULL: not known */
	struct critical_who who;
	u64 at_ns;
	bool at_begin;
	size_t threads;
	VEC(struct why_line) lines;
	VEC(struct why_chain) chains; /* those that wait for work last, else the longest first */
	struct span_builder builder;  /* owns the texts */
};

/*
 * The answer for a process that lives at the end of what was loaded; at_begin: at the begin of its
 * range, for which waits that last beyond it are loaded, too. -ENOENT: there is none; -ENOTUNIQ:
 * several hosts have one. 0 or -ENOMEM; free `out` in any case.
 */
int why_process(const struct request_answer *a, u32 pid, bool at_begin, struct why_answer *out);
void why_free(struct why_answer *out);

/* Writes a whole document: what was found of a process. */
void why_write_json(struct json *j, const struct source_view *source, const struct why_answer *a);

/* Writes a whole document: the critical path of a request. */
void why_path_write_json(struct json *j, const struct source_view *source,
			 const struct critical_answer *a);

#endif
