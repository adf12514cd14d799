/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of a recording, one after the other: the stream of the open one that each record
 * belongs to, and the sealing of those that have ended, on a thread of its own.
 */
#ifndef RECORDER_CHUNKS_H
#define RECORDER_CHUNKS_H

#include <pthread.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "chunk/chunk.h"
#include "recorder/control.h"

/* Of chunks that are sealed, as they tell it. */
struct chunking_counts {
	u64 records, bytes, chunks;
	u64 plain;	/* of the chunks: not compressed, though that was asked for */
	u64 incomplete; /* fields in them that were cut or could not be read */
	struct chunk_lost lost;
};

struct chunking_options {
	const char *dir; /* borrowed, as everything here */
	const struct recording_hold *hold;
	const struct chunk_owner *owner; /* NULL: the effective user */
	bool compress;
	const char *on_chunk; /* NULL: none */
	const u32 *filters;   /* FILTER_*, once a chunk begins: what is left out on request */
	const char *missing;  /* tracepoints that the kernel lacks; NULL: none */
};

/* Its fields are read by none but its functions. */
struct chunking {
	struct chunking_options options;
	struct control *control;     /* who asked for a chunk is told there of its sealing */
	struct chunk_writer *writer; /* of the open chunk; NULL: none is open */
	struct chunk_sealer *sealer;
	u64 next_seq;			 /* nobody else makes any; 0: none was begun */
	u64 incomplete_told;		 /* to chunks, of what capture has counted */
	struct chunk_stream *life;	 /* of the writer, made when first used */
	VEC(struct chunk_stream *) cpus; /* of the writer, by CPU */
	struct map apps;		 /* of the writer, by process */

	pthread_mutex_t mutex; /* guards what the sealer's thread reads and writes: */
	bool stopped;
	struct chunking_counts counts;
	struct error seal_error;   /* the first */
	unsigned int seals_failed; /* in a row */
};

/* Before anything else. Ends with chunking_close(). */
void chunking_init(struct chunking *c, const struct chunking_options *options);
void chunking_close(struct chunking *c);

/* Starts the thread that seals, with the privileges that the caller has then. */
int chunking_start(struct chunking *c, struct control *control, struct error *e);

/* Where records go, while a chunk is open. */
struct capture_sink chunking_sink(struct chunking *c);

bool chunking_is_open(const struct chunking *c);

/* Of the open chunk, written so far. */
u64 chunking_bytes(const struct chunking *c);

/* Opens a chunk. 0 or a negative errno. */
int chunking_begin(struct chunking *c, u64 begin_ns, struct error *e);

/* Until when its streams are complete, where that is before its end. */
void chunking_complete(struct chunking *c, u64 complete_ns);

/* Brings what was recorded up to then to the disk. */
int chunking_flush(struct chunking *c, u64 until_ns, struct error *e);

/*
 * Ends the open chunk and has it sealed, also if the disk did not take all of it: that is counted
 * in it, and returned. `incomplete` is what capture has counted of such fields since it began.
 */
int chunking_end(struct chunking *c, u64 cut_ns, u64 incomplete, struct error *e);

/* The same, but the next one begins there; what comes late is older than complete_ns. */
int chunking_rotate(struct chunking *c, u64 cut_ns, u64 complete_ns, u64 incomplete,
		    struct error *e);

/* The open chunk is for nothing, and goes. None may be open. */
void chunking_abandon(struct chunking *c);

/* The directory has another name now. */
void chunking_moved(struct chunking *c, const char *dir);

/* Fails if several chunks in a row could not be sealed: they pile up. */
int chunking_check(struct chunking *c, struct error *e);

/* From now on chunks that cannot be sealed are told by chunking_finish() alone. */
void chunking_stopped(struct chunking *c);

/* Waits until all that have ended are sealed. The first error of all. */
int chunking_finish(struct chunking *c, struct error *e);

void chunking_counts(struct chunking *c, struct chunking_counts *out);

#endif
