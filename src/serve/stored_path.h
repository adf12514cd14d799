/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a span, from what is stored: what its end waited for at each instant, back
 * to its begin. While the span waited for a child, the path is in the child. Where kernel spans are
 * stored, they tell what the thread waited for. The path then goes on in the thread that ended the
 * wait, for the time of the wait, if that thread has spans in the trace.
 */
#ifndef SERVE_STORED_PATH_H
#define SERVE_STORED_PATH_H

#include "serve/gather.h"

#define STORED_PATH_STEPS_MAX 20000 /* the time before them is in no step */

enum path_state {
	PATH_RUNNING,  /* the thread had a CPU: its waits are stored, and it had none */
	PATH_RUNNABLE, /* the thread was ready, and waited for a CPU or for its quota */
	PATH_WAITING,  /* the thread was blocked, and no thread of the trace tells more */
	PATH_SPLIT,    /* waits are not stored: the split of the span tells shares, but no order */
	PATH_UNKNOWN,  /* nothing tells: the span has no split */
};

struct path_step {
	uint64_t begin_ns, end_ns;
	uint32_t at;   /* the span whose time it is, in the batch */
	uint32_t wait; /* the kernel span that tells it; GATHER_NONE: none */
	uint32_t call; /* the call in which it waited, if that is a span; GATHER_NONE: none */
	enum path_state state;
	int part; /* enum split_part; -1: not known */
};

/* In the order of time, without holes. Starts with all zero. */
struct stored_path {
	VEC(struct path_step) list;
	bool has_waits;	 /* kernel spans told some of it */
	bool has_wakers; /* it went on in a thread that ended a wait */
	bool is_cut;	 /* there are too many steps, or too much to look at */
};

/* Finds the path of a span that is no kernel span. 0 or -ENOMEM; free it in any case. */
int stored_path_find(const struct gathered *g, uint32_t at, struct stored_path *out);
/* "wakers", "waits" or "spans": what told it. Static memory. */
const char *stored_path_known_by(const struct stored_path *path);
void stored_path_free(struct stored_path *path);

#endif
