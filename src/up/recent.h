/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last chunks of a recording that goes on, as partials in memory: together with the state
 * before them they are the partial of that time, as long as one follows the other without a gap.
 * For one thread.
 */
#ifndef UP_RECENT_H
#define UP_RECENT_H

#include "base/bytes.h"
#include "chunk/checkpoint.h"
#include "map/partial.h"

#define RECENT_CHUNKS_MAX 90 /* more than an open request is waited for */
#define RECENT_BYTES_MAX ((size_t)48 << 20)

struct recent_chunk {
	struct chunk_info info;
	struct bytes bytes; /* of partial_write() */
	bool is_blind; /* byte ranges were recorded at no time of it: it has a part of no request */
};

/* Starts with all zero. */
struct recent {
	VEC(struct recent_chunk *) chunks; /* owned; their numbers follow each other */
	size_t bytes;
	struct recording_checkpoint state; /* before the first chunk; no data: there is none yet */
};

/* The processes that moved bytes over connections lately. Starts with all zero. For one thread. */
struct talkers {
	struct map last; /* pid -> one more than the number of the chunk in which they did last */
};

void talkers_free(struct talkers *t);

/*
 * Of `p` what requests need (map/file/narrow.h), with the kernel spans of processes that moved
 * bytes in it, or in one of the RECENT_CHUNKS_MAX chunks before it, unless it is blind. NULL if
 * memory ran out. The order of the lists of `p` may change.
 */
struct recent_chunk *recent_chunk_new(const struct chunk_info *info, struct partial *p,
				      struct talkers *talkers);
void recent_chunk_free(struct recent_chunk *c); /* NULL is allowed */

/*
 * Adds a chunk, which it then owns, also on failure. If it does not follow the last one, all before
 * it go. Returns how many went, or -ENOMEM.
 */
int recent_add(struct recent *w, struct recent_chunk *chunk);

/* Whether it is so large that its first chunks are to go. */
bool recent_is_full(const struct recent *w);

/*
 * Begins with the chunk number `first`, before which the state is, which it then owns. False: that
 * is no chunk of it, and nothing changed.
 */
bool recent_begin(struct recent *w, const struct recording_checkpoint *state, u64 first);

/* The last chunk; NULL: there is none. */
const struct chunk_info *recent_last(const struct recent *w);

/*
 * Whether byte ranges were recorded until some time ago, which is less than wait_ns: what has a
 * part in them can be decided soon, all at once.
 */
bool recent_turn_waits(const struct recent *w, u64 wait_ns);

/* For how long byte ranges were recorded in the chunks that end in (from_ns, to_ns]. */
u64 recent_seen_ns(const struct recent *w, u64 from_ns, u64 to_ns);

struct chunk_times {
	u64 begin_ns, end_ns;
};

/* The same of all chunks that came, also of those that went. Starts with all zero. */
struct recent_came {
	VEC(struct chunk_times) list;
};

int recent_came_add(struct recent_came *c, const struct recent_chunk *chunk); /* 0 or -ENOMEM */
/* Forgets what ended by to_ns. */
u64 recent_came_take(struct recent_came *c, u64 from_ns, u64 to_ns);

/* Merges all of it, which has a state, into a finished partial. 0, -ENOMEM or -EBADMSG. */
int recent_partial(const struct recent *w, struct partial **out);

/* Forgets all. */
void recent_free(struct recent *w);

#endif
