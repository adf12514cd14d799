/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The joiner: a thread of map, which finds out which thread had a received span, and gives the span
 * its time split and its kernel spans.
 *
 * serve sends a claim for each received span of a process of this host (serve/claim.h). Once the
 * chunks of its time are there, they are mapped again from the nearest state of the hand-over, with
 * meters on the threads of that process (map/meters.h). The thread is
 * - the one that the span names, by `thread.id` or, where one thread has it, `thread.name`, if it
 *   was one of that process;
 * - where spans of the language stay on their thread, the only one that was on a CPU when the span
 *   began and when it ended: there its tracer read the clock;
 * - else the only one of the process that was on a CPU, or waited for one, in the time of the span.
 * Spans whose times overlap without one lying in its ancestor are ambiguous there (up/nest.h). A
 * span whose context is published needs none of this.
 *
 * What it finds is posted to serve like a span of which only the context was seen; answers show the
 * two as one (serve/join.h). It takes at most a twentieth of a CPU, and a claim waits for its turn.
 */
#ifndef UP_JOINER_H
#define UP_JOINER_H

#include "chunk/checkpoint.h"
#include "map/handover/handover.h"
#include "up/chooser.h"
#include "up/part.h"
#include "up/sent.h"

struct joiner;

/*
 * Starts the thread. The chooser is shared with the caller, and outlives the joiner. 0 or a
 * negative errno.
 */
int joiner_start(struct part_context *c, struct chooser *chooser, const char *socket,
		 struct joiner **out);

/* Ends the thread, and frees. NULL is allowed. */
void joiner_stop(struct joiner *j);

/* The hand-over has taken a chunk. 0 or -ENOMEM. */
int joiner_chunk(struct joiner *j, const struct chunk_info *info, struct handover *h);

/*
 * The latest state of the hand-over that ended by a time of the monotonic clock, and the number of
 * the chunk behind it. 0; -ENOENT: there is none; or -ENOMEM. Free it with
 * recording_checkpoint_free().
 */
int joiner_state(struct joiner *j, u64 from_ns, struct recording_checkpoint *out, u64 *first);

/* The spans of this host's programs that it knows. */
struct sent_ring *joiner_sent(struct joiner *j);

/* A context was seen published: the received span of its ids needs no claim. */
void joiner_context(struct joiner *j, const struct context *ctx);

#endif
