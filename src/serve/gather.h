/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of an operation with all that lies beneath them, from a sample of traces. Answers that look
 * at many requests at once are made of it.
 */
#ifndef SERVE_GATHER_H
#define SERVE_GATHER_H

#include "base/clock.h"
#include "serve/route.h"

#define GATHER_ANSWER_NS UINT64_C(2000000000) /* the time for an answer about many traces */

#define GATHER_TRACES_MAX 1000

/* Which spans of the traces are the subjects; 0 and NULL: no bound. */
struct gather_query {
	const char *service, *operation;
	int kind;		 /* enum received_kind; < 0: any */
	uint64_t from_ns, to_ns; /* begins; `to_ns` is not in the range */
	uint64_t duration_from_ns, duration_to_ns;
	size_t traces; /* 1 to GATHER_TRACES_MAX */
	/* CLOCK_MONOTONIC: when the answer must be made, which is partial then; 0: never */
	uint64_t until_ns;
	unsigned int sets_behind; /* that the same answer needs, too */
};

/* Spans are told by their places in the batch; those beneath one are a list. */
struct gathered {
	struct received_batch batch; /* what it points to is in the pool of the query */
	uint32_t *first, *next; /* the first child, the next sibling; GATHER_NONE: there is none */
	VEC(uint32_t) subjects;
	size_t traces;	   /* of which all spans are there */
	uint64_t until_ns; /* CLOCK_MONOTONIC: when what is made of them must end; 0: never */
	bool is_partial;   /* time or memory was over, so there may be more traces */
};

/* Whether the time for what is made of the spans is over. */
static inline bool gathered_is_over(const struct gathered *g)
{
	return g->until_ns && clock_now_ns() >= g->until_ns;
}

#define GATHER_NONE UINT32_MAX

/* Free it with gathered_free(), also on failure. */
int gather(struct query *q, const struct gather_query *query, struct gathered *out);

/*
 * Traces to gather. The value of a mark is when a span of its trace begins: what is long before all
 * of them is not read. 0: all is.
 */
struct gather_traces {
	const struct store_marks *marks;
	uint64_t until_ns; /* CLOCK_MONOTONIC; 0: never */
	bool with_kernel;  /* with their kernel spans */
};

/*
 * Adds their spans to an empty batch, as long as there are time and memory, of which a quarter
 * is left. -ENOMEM if there is none for the first ones.
 */
int gather_traces(struct query *q, const struct gather_traces *what, struct gathered *g);

/* One trace with its longest root as the subject. -ENOENT: it has no span. Free it as above. */
int gather_trace(struct query *q, struct trace_id id, struct gathered *out);

/* Links the spans of the batch. 0 or -ENOMEM. */
int gathered_link(struct gathered *g);

/* Links the spans of the batch, and lists the subjects. 0 or -ENOMEM. */
int gathered_index(struct gathered *g, const struct gather_query *query);
void gathered_free(struct gathered *g);

/* Whether a span is a subject of the query. */
bool gather_takes(const struct gather_query *query, const struct received_span *span);

/* The attribute of a key; NULL: there is none. */
const struct attribute *gather_attribute(const struct received_span *span, const char *key);

/* What a kernel span is: "wait", "syscall", ...; NULL: it is none. */
const char *gather_kernel_kind(const struct received_span *span);

/* Whether another span stands for this one in lists and sums. */
bool gather_is_counted(const struct received_span *span);

/* Whether only the context of a span was seen: nobody told its name and its parent. */
bool gather_is_context(const struct received_span *span);

/* The thread that had a span, as far as it is told; else -1. */
int64_t gather_thread(const struct received_span *span);

/* The host of a span; NULL: it is not known. */
const char *gather_host(const struct received_span *span);

/* Whether two spans are of one process: the same sender, or the same number on the same host. */
bool gather_same_process(const struct received_span *a, const struct received_span *b);

/* The split of a span. False: it has none. */
bool gather_split(const struct received_span *span, struct split *out);

/* The part of a split (enum split_part) that has this name; -1: there is none. */
int gather_part(const char *name);

#define GATHER_PLACE_BYTES 512

/*
 * Where a wait is, which is a kernel span: its call, and the object: "fsync on /var/lib/x/wal",
 * "recvfrom on 10.0.0.7:5432 (postgres)", "futex, woken by worker", "CPU quota of /app", or the
 * reason or name of the wait. `call`: the call in which it is, if that is a span itself, else NULL.
 */
void gather_place(const struct received_span *wait, const struct received_span *call,
		  char text[GATHER_PLACE_BYTES]);

#endif
