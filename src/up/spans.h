/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that the hand-over gives, as spans of the store. What fathom adds are attributes:
 *
 *   fathom.version          one more than the number of the chunk that said it (0 is none): the
 *                           highest one counts
 *   fathom.time.PART_ns     the time split; parts without time are left out
 *   fathom.threads          if several threads had it at once
 *   fathom.begin, .end      "soft": it was there before the recording, or its end was not seen
 *   fathom.kind             "context": only its context was seen
 *   fathom.kernel           up to 16 rows of what its threads did in the kernel, by total_ns: maps
 *                           of kind (syscall, wait, fault, io_uring, block), name, count, total_ns
 *   fathom.kernel.more_count, .more_ns    what is in no row
 *   fathom.kernel.why       its kernel spans are stored (up/chooser.h), since it is in "error",
 *                           "slow", one of ten seconds of its operation ("sample"), or of the
 *                           "trace" of such an error or slow one, and ended in the chunk
 *
 * Kernel spans stand behind the spans of their trace. They have fathom.kind (the kind of a row),
 * fathom.version, fathom.time.PART_ns, thread.id, and, as `fathom trace` shows them, cause.reason,
 * syscall, result, error.type, fd.name, waker ("redis-server/4112", "timer") and waker.tid. A path
 * is that by which the process, else any, opened the file last. Sockets whose peer is a server have
 * network.peer.address, network.peer.port, and peer.program, the program of this host that accepts
 * there. Waits for a CPU quota have cgroup, its path. Their ids are those that `fathom trace`
 * shows.
 */
#ifndef UP_SPANS_H
#define UP_SPANS_H

#include "base/map.h"
#include "base/pool.h"
#include "chunk/chunk.h"
#include "map/handover/handover.h"
#include "serve/claim.h"
#include "span/received.h"
#include "up/chooser.h"
#include "up/exchange_work.h"
#include "up/joined.h"
#include "up/objects.h"

/* A span whose kernel spans wait until its trace is complete. */
struct spans_waiting {
	size_t at;		      /* in the batch */
	struct attribute *attributes; /* of that span, with room for one more */
	size_t first, count;	      /* of `children` */
	u64 more_count;
	enum chosen chosen;
};

/* Spans of a chunk. Start with all zero but the chooser. For one thread. */
struct spans {
	struct chooser *chooser;	   /* borrowed; NULL: no kernel spans */
	struct received_batch batch;	   /* owned */
	struct pool pool;		   /* what it points to */
	struct map resources;		   /* pid -> struct received_resource of the pool */
	struct map names;		   /* tid of a waker -> its name, in the pool */
	struct objects objects;		   /* of the chunk */
	struct map told;		   /* hash of process and object -> struct told_object */
	const struct chunk_info *chunk;	   /* borrowed */
	VEC(struct spans_waiting) waiting; /* of one trace */
	VEC(struct kspan) children;
	struct exchange_work work; /* of the last span of a request */
	u64 kernel;		   /* spans of the batch that are kernel spans */
	u64 kernel_left_out;	   /* kernel spans of chosen spans that are not in the batch */
};

/* Forgets the spans, and begins with those of a chunk. */
void spans_begin(struct spans *s, const struct chunk_info *chunk);

/*
 * Adds a span; one that goes on is passed over. The spans of a trace follow each other. Kernel
 * spans of chosen ones are added behind the last of them. 0 or -ENOMEM.
 */
int spans_add_handed(struct spans *s, const struct handed_span *handed);

/* A span that was received, and which thread had it (up/joiner.h). */
struct joined_span {
	const struct claim *claim;
	enum joined joined;
	u32 pid, tid;	    /* 0: not known */
	struct split split; /* all zero: not known */
	const struct kspan *children;
	size_t children_count;
	u64 more_count, more_ns;       /* kernel spans that are not in the list */
	const struct partial *partial; /* finished: tells what they worked on; NULL: nothing does */
	u64 version;
};

/*
 * Adds what is known of such a span, as one of which only the context was seen, and its kernel
 * spans as above. It has `fathom.join`, and `fathom.pid` and `fathom.tid` of its thread.
 */
int spans_add_joined(struct spans *s, const struct joined_span *joined);

/* After the last span: adds the kernel spans of the last trace. 0 or -ENOMEM. */
int spans_finish(struct spans *s);

/* Whether a span of the batch is a kernel span. */
bool spans_is_kernel(const struct received_span *span);

/* Frees all but the chooser. */
void spans_end(struct spans *s);

#endif
