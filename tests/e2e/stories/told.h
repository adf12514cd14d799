/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories: short spans of which it is known what their threads did. Each says in a line of JSON
 *
 *   {"story","name","round","tid","trace","span","parent","outer":[from,to],"inner":[from,to],
 *    "blocked_ns","wait_ns","run_ns","switches","thread":[NOW,RUN,SWITCHES],
 *    "pieces":[["PART",from,to],...]}
 *
 * The span began between outer[0] and inner[0], and ended between inner[1] and outer[1]. In each
 * piece it was in that part of the split; such a piece ends when somebody is about to end the
 * wait. blocked_ns, wait_ns and run_ns are the kernel's count of all threads that had it: off the
 * CPU without waiting for one, waiting for one, on one. Up to NOW the thread that says it was on a
 * CPU for RUN, counted from anywhere, and left it SWITCHES times. Times are CLOCK_MONOTONIC.
 */
#ifndef TESTS_E2E_STORIES_TOLD_H
#define TESTS_E2E_STORIES_TOLD_H

#include <fathom/fathom.h>

#include "tests/truth/truth.h"

struct piece {
	const char *part;
	int64_t from_ns, to_ns;
};

struct told {
	const char *story;
	int round;
	struct fathom_span span;
	const char *name;
	int64_t outer_ns[2], inner_ns[2];
	int64_t blocked_ns, wait_ns, run_ns;
	long switches;
	struct truth truth;
	struct piece pieces[12];
	int pieces_count;
};

/* The kernel's count for the calling thread begins, and is added to the span's. */
void told_counts(struct told *t);
void told_counted(struct told *t);

/* A span that is active from here on, child of what is. */
void told_begin(struct told *t, const char *name);
void told_stop(struct told *t);
void told_say(const struct told *t); /* not under a span: it may wait for others who do */
void told_end(struct told *t);	     /* both */

/* A piece of it; one that ends before it begins is none. */
void told_piece(struct told *t, const char *part, int64_t from_ns, int64_t to_ns);
void told_pieces(struct told *t, const struct told *child); /* those of a child, as well */

#endif
