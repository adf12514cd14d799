/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the joiner (up/joiner.h): the last chunks that the hand-over took, states of the
 * hand-over between them, and the contexts that were seen published. The thread of the hand-over
 * adds to it, and that of the joiner reads; each function takes the lock.
 */
#ifndef UP_JOIN_SOURCE_H
#define UP_JOIN_SOURCE_H

#include <pthread.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "chunk/checkpoint.h"
#include "map/handover/handover.h"
#include "span/received.h"

#define JOIN_SOURCE_CHUNKS 90 /* that are remembered */
#define JOIN_SOURCE_STATES 16

struct join_state {
	struct bytes bytes;
	u64 next, end_ns; /* the number of the chunk after it, and its end; 0: there is none */
};

struct join_source {
	pthread_mutex_t lock;
	struct chunk_info *told[JOIN_SOURCE_CHUNKS]; /* by number; owned */
	struct chunk_clock clock;
	u64 from_ns, to_ns; /* the chunks that are remembered */
	struct join_state states[JOIN_SOURCE_STATES];
	size_t state_at;
	u64 state_due; /* the number of the chunk after which a state is kept */
	struct map contexts;
	u64 *context_ring;
	size_t context_at;
};

/* The times of the chunks that are remembered, and of now, on the monotonic clock. */
struct join_times {
	struct chunk_clock clock;
	u64 from_ns, to_ns, now_ns; /* to_ns 0: there is no chunk yet */
};

/* A copy of a state and of the chunks that follow it. Starts with all zero. */
struct join_chunks {
	struct bytes state; /* empty: none */
	u64 state_end_ns;
	VEC(struct chunk_info) chunks;
	VEC(const struct chunk_info *) list; /* the same */
};

/* 0 or -ENOMEM. End it in any case. */
int join_source_init(struct join_source *s);
void join_source_end(struct join_source *s);

/* The hand-over has taken a chunk. 0 or -ENOMEM. */
int join_source_chunk(struct join_source *s, const struct chunk_info *info, struct handover *h);

/* A context was seen published. */
void join_source_context(struct join_source *s, const struct context *ctx);
bool join_source_has_context(struct join_source *s, struct trace_id trace, u64 span_id);

struct join_times join_source_times(struct join_source *s);

/* The last chunk. False: there is none. */
bool join_source_last(struct join_source *s, struct chunk_info *last);

/* As joiner_state(). */
int join_source_state(struct join_source *s, u64 from_ns, struct recording_checkpoint *out,
		      u64 *first);

/*
 * The chunks of a time, from the latest state before it on. 0 or -ENOMEM. Their copies in `out` are
 * replaced.
 */
int join_source_range(struct join_source *s, u64 from_ns, u64 to_ns, struct join_chunks *out);
void join_chunks_free(struct join_chunks *c);

#endif
