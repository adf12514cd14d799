/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of a recording, one after another. Each record goes to its stream of the open chunk.
 * Chunks that have ended are sealed on a separate thread.
 *
 * Functions are called by the recorder's thread only, except chunking_counts(), which is
 * thread-safe.
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

/* Sums over the sealed chunks. */
struct chunking_counts {
	u64 records, bytes, chunks;
	u64 plain;	/* chunks that were left uncompressed although compression was wanted */
	u64 incomplete; /* fields that were cut or could not be read */
	struct chunk_lost lost;
};

struct chunking_options {
	const char *dir; /* borrowed, as are all pointers here */
	const struct recording_hold *hold;
	const struct chunk_owner *owner; /* NULL: the effective user */
	bool compress;
	const char *on_chunk; /* NULL: none */
	const u32 *filters;   /* FILTER_*, read when a chunk begins: what the user left out */
	const char *missing;  /* tracepoints that the kernel lacks; NULL: none */
	const char *host;     /* the name that the user gave this host; NULL: none */
};

/* Only the functions below use the fields. */
struct chunking {
	struct chunking_options options;
	struct control *control;     /* informed of each sealed chunk, for `fathom rotate` */
	struct chunk_writer *writer; /* of the open chunk; NULL: none is open */
	struct chunk_sealer *sealer;
	u64 next_seq;			 /* only this recorder makes chunks; 0: none was begun */
	u64 ended_bytes;		 /* of the chunks that have ended */
	u64 incomplete_written;		 /* how many of capture's incomplete fields chunks have */
	struct chunk_stream *life;	 /* of the writer, created at its first record */
	VEC(struct chunk_stream *) cpus; /* of the writer, by CPU */
	struct map apps;		 /* of the writer, by process */
	u64 taken, taken_of_calls;	 /* records so far, and those of calls and page faults */
	u64 taken_of_bytes;		 /* and of byte ranges */

	pthread_mutex_t mutex; /* guards the fields below, which the sealer's thread uses */
	bool stopped;
	struct chunking_counts counts;
	struct error seal_error;   /* the first one */
	unsigned int seals_failed; /* chunks in a row */
};

/* Initializes `c`, before any other call. Free it with chunking_close(). */
void chunking_init(struct chunking *c, const struct chunking_options *options);
void chunking_close(struct chunking *c);

/*
 * Starts the thread that seals, with the privileges that the caller has at that time. 0 or a
 * negative errno.
 */
int chunking_start(struct chunking *c, struct control *control, struct error *e);

/* The sink for records while a chunk is open. */
struct capture_sink chunking_sink(struct chunking *c);

bool chunking_is_open(const struct chunking *c);

/* Bytes written to the open chunk so far. */
u64 chunking_bytes(const struct chunking *c);

/* Bytes written to all chunks so far, before they are compressed. */
u64 chunking_written(const struct chunking *c);

/* Opens a chunk that begins at begin_ns. 0 or a negative errno. */
int chunking_begin(struct chunking *c, u64 begin_ns, struct error *e);

/* Sets the time up to which all streams of the open chunk are complete, if before its end. */
void chunking_complete(struct chunking *c, u64 complete_ns);

/* Writes the records up to until_ns to the disk. 0 or a negative errno. */
int chunking_flush(struct chunking *c, u64 until_ns, struct error *e);

/*
 * Ends the open chunk and has it sealed. It does so, too, if the disk did not take all records:
 * they are counted as lost in the chunk, and the error is returned. `incomplete` is capture's count
 * of incomplete fields since the recording began.
 */
int chunking_end(struct chunking *c, u64 cut_ns, u64 incomplete, struct error *e);

/*
 * The same, and begins the next chunk at cut_ns. The streams of the old chunk are complete up to
 * complete_ns; records of a later time that arrive late go into the next chunk.
 */
int chunking_rotate(struct chunking *c, u64 cut_ns, u64 complete_ns, u64 incomplete,
		    struct error *e);

/* Removes the open chunk, if there is one. */
void chunking_abandon(struct chunking *c);

/* The directory was renamed to `dir`, which is borrowed. */
void chunking_moved(struct chunking *c, const char *dir);

/* Fails if several chunks in a row could not be sealed, since they pile up. */
int chunking_check(struct chunking *c, struct error *e);

/* From now on only chunking_finish() reports chunks that cannot be sealed. */
void chunking_stopped(struct chunking *c);

/* Waits until all chunks that have ended are sealed. Returns the first error of all of them. */
int chunking_finish(struct chunking *c, struct error *e);

void chunking_counts(struct chunking *c, struct chunking_counts *out);

#endif
