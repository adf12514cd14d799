/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the recording of a host: reads its chunks, maps and merges them into the partial of an
 * answer. sources_load() does so for several hosts, and takes partial files.
 */
#ifndef ANSWER_LOAD_H
#define ANSWER_LOAD_H

#include "answer/source.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/range.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* Receives the progress of loading: bytes of chunks that are read, and of all chunks to read. */
struct load_progress {
	void (*tell)(void *arg, u64 done_bytes,
		     u64 bytes); /* called by the caller's thread; may be NULL */
	void *arg;
};

struct source_options {
	const char *const *dirs; /* recordings, chunks and partial files; borrowed */
	size_t dirs_count;
	int boot;			 /* 0: the latest in them */
	bool spans;			 /* keep each syscall, fault and wait */
	const struct kspan_filter *only; /* the spans to keep; NULL: all; borrowed by the source */
	bool hits;			 /* count whom recording hit: for report_overhead */
	struct notice notice;		 /* receives damage, a line each */
	struct sum_choice sums;		 /* what sums tell apart; partial files: all */
	struct time_point from, to;	 /* the range of the answer */
	bool more; /* visits and waits that are open at the end are out of the range: they end later
		    */
	const char *after; /* a chunk: only later chunks are read; NULL: all; borrowed */
	const struct recording_checkpoint
		*checkpoint; /* used instead of those in dirs; NULL: none; borrowed */
	u64 threads;	     /* that map chunks; 0: one for each usable CPU */
	struct load_progress progress;
	bool last_try; /* set by source_load(), sources_load() */
};

struct source {
	struct partial *partial; /* finished; owned */
	struct source_view view; /* points into the memory of this struct */
	u64 from_ns, to_ns;	 /* the part of the range that was recorded */
	u64 recorded_ns;	 /* its time without the gaps */
	size_t first;		 /* index of the first chunk that the checkpoint does not replace */
	u64 boot;		 /* hash of the boot id */
	char host[256];		 /* as in struct recording_info */
	char boot_id[64];
	/* tracepoints that the kernel lacked, of all chunks */
	char missing[2 * CHUNK_MISSING_BYTES];
	VEC(struct clock_view) clocks;
	VEC(struct gap_view) gaps;
	VEC(struct step_view) steps;
	struct notice notice; /* the option */
	bool lacks_spans;     /* kernel spans were requested, and a partial file has none */
	bool last_try; /* a chunk that is deleted while it is read is left out, instead of reading
			  again */
};

/*
 * Reads chunks, maps and merges them, and finishes the result. Damaged chunks are reported to the
 * notice, a line each; a chunk that is deleted meanwhile does not count as damaged. 0 or a negative
 * errno with the causes. Free it with source_free() in any case. The number of threads changes
 * neither the answer nor the order of notices.
 */
int source_load(const struct source_options *options, struct source *out, struct error *e);

/*
 * Retention can delete chunks while they are read, the oldest first. Then everything is read again,
 * with the checkpoint that replaces them, at most this many times.
 */
#define SOURCE_READ_AGAIN 5

struct checkpoints;

/*
 * Does the same once, for a recording that is open. -ESTALE if a chunk was deleted meanwhile; with
 * options->last_try such a chunk is a gap. Several sources may share the checkpoints.
 */
int source_map(struct source *out, const struct source_options *options,
	       struct recording *recording, struct checkpoints *checkpoints, struct error *e);
void source_free(struct source *source);

#endif
