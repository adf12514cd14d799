/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-over: chunk after chunk of a recording that goes on is given to it, and with each chunk
 * it hands out the application spans that ended, each with the time split of its whole life.
 *
 * It is a partial that runs from chunk to chunk. Of what is before the last chunk it keeps the
 * threads that go on, what holds of them, and the traces in which a span is still open; so each
 * chunk is mapped once, and a span may be open over any number of chunks.
 *
 * A thread that goes on is settled by the cut. Where a later chunk says more of a span, the span is
 * handed out again, with a higher version. The law (tests/unit/map/handover.c): the last versions
 * are the spans of the map of the whole, as long as nothing was given up or came late
 * (struct handover_counts).
 *
 * Not thread-safe.
 */
#ifndef MAP_HANDOVER_HANDOVER_H
#define MAP_HANDOVER_HANDOVER_H

#include "base/bytes.h"
#include "map/partial.h"
#include "map/tree/tree.h"

/* Bounds. 0 stands for the number that is said. */
struct handover_options {
	/*
	 * A trace is kept so long after the last of its spans ended: a loss of records, or a stream
	 * that comes late, may still change it. 0: not at all.
	 */
	u64 keep_ns;
	/*
	 * Hands out spans of which only the context was seen, too, with each chunk at whose end no
	 * thread has them.
	 */
	bool contexts;
	size_t spans_max;	   /* that are kept: open ones, and some that ended; 0: 65,536 */
	size_t children_max;	   /* of the kernel, kept for one span; 0: 2000 */
	size_t children_total_max; /* and for all spans together; 0: 65,536 */
};

/* A span that ended. */
struct handed_span {
	/*
	 * Name, status, events, attributes, threads; one side may be missing (begun, ended). The
	 * shares of its threads may have those of spans that ended within it.
	 */
	const struct app_span *span;
	/* Finished: answers queries of map/fact/query.h about names, services and processes. */
	const struct partial *partial;
	/* With facts of files, sockets and cgroups, too, which may be unsorted. */
	const struct partial *running;
	struct span_time time;
	/* Number of the chunk, from 1 on: a later one of the same context replaces this one. */
	u64 version;
	/*
	 * It goes on after all: it was handed out as ended because its program seemed to have
	 * ended, and a later chunk has more of that. It is handed out again when it ends.
	 */
	bool open;
	/*
	 * The calls, faults, waits and requests that ended under its context: the longest ones, the
	 * longest first. Those that are not in the list are counted, with their time.
	 */
	const struct kspan *children;
	size_t children_count;
	u64 more_count, more_ns;
};

/* What happened so far. */
struct handover_counts {
	u64 chunks;
	u64 handed;	     /* spans handed out for the first time */
	u64 again;	     /* and once more, with a higher version */
	u64 late;	     /* fragments of spans that were kept no longer: they are left out */
	u64 given_up;	     /* open spans that were dropped because of spans_max */
	u64 forgotten;	     /* other things that were dropped because of a bound */
	size_t spans;	     /* that are kept now */
	size_t children_now; /* of the kernel, likewise */
};

/* Takes a span, which is borrowed during the call. 0, or a negative errno, which ends the chunk. */
typedef int handover_fn(void *arg, const struct handed_span *handed);

struct handover;

/* NULL if memory ran out. Free it with handover_free(). */
struct handover *handover_new(const struct handover_options *options);
void handover_free(struct handover *h); /* NULL is allowed */

/* How the chunks are to be mapped. */
struct partial_options handover_partial_options(void);

/*
 * Appends the state after the chunks so far (map/checkpoint/checkpoint.h) to `out`: another
 * hand-over can go on with the next chunk. 0 or -ENOMEM.
 */
int handover_state_write(struct handover *h, struct bytes *out);

/*
 * Begins with such a state, or with the checkpoint of a recording, before the first chunk. Spans
 * that are open then have no time before that. 0; -EBADMSG, -EPROTO or -ENOMEM, and it is as it
 * was.
 */
int handover_begin(struct handover *h, const void *data, size_t bytes);

/*
 * Takes the next chunk, which partial_cover() was told of, and owns it from here on, also on
 * failure. Calls `fn` for each span that ended in it, or of which it says more, in the order of
 * contexts. 0, -ENOMEM, or what `fn` returned; after a failure the hand-over is only to be freed.
 */
int handover_take(struct handover *h, struct partial *chunk, handover_fn *fn, void *arg);

struct handover_counts handover_counts(const struct handover *h);

#endif
