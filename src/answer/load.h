/* SPDX-License-Identifier: Apache-2.0 */
/* Loads recordings: reads their chunks, maps and merges them into the partial of an answer. */
#ifndef ANSWER_LOAD_H
#define ANSWER_LOAD_H

#include "answer/source.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/range.h"
#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/partial.h"

/* Hears how far a recording is read: so many bytes of chunks, of all that are to be read. */
struct load_progress {
	void (*tell)(void *arg, u64 done_bytes, u64 bytes); /* by the caller's thread; or NULL */
	void *arg;
};

struct source_options {
	const char *const *dirs; /* recordings and chunks; borrowed */
	size_t dirs_count;
	int boot;			 /* 0: the latest in them */
	bool spans;			 /* keep each syscall, fault and wait */
	const struct kspan_filter *only; /* of them; NULL: all; borrowed by the source */
	struct notice notice;		 /* hears of damage, a line each */
	struct time_point from, to;	 /* only what lies between */
	bool more;			 /* what is open at the end ends later, out of the range */
	const char *after;		 /* a chunk: only later ones are read; NULL; borrowed */
	const struct recording_checkpoint
		*checkpoint; /* in place of those in dirs; NULL; borrowed */
	u64 threads;	     /* that map chunks; 0: as many as there are CPUs to use */
	struct load_progress progress;
};

struct source {
	struct partial *partial; /* finished; owned */
	struct source_view view; /* points into this struct's memory */
	u64 from_ns, to_ns;	 /* what the answers cover: the range, as far as it was recorded */
	u64 recorded_ns;	 /* of it, without the gaps */
	size_t first;		 /* chunk that the checkpoint does not stand for */
	u64 boot;		 /* hash of the boot id */
	char host[256], boot_id[64];
	char missing[2 * CHUNK_MISSING_BYTES]; /* of all chunks */
	VEC(struct clock_view) clocks;
	VEC(struct gap_view) gaps;
	struct notice notice; /* the option */
	bool last_try; /* a chunk that goes while it is read is left out, and all is as it is */
};

/*
 * Reads, maps, merges and finishes. Damaged chunks are told to the notice, a line
 * each; one that is deleted meanwhile is none of them. 0 or a negative errno with the
 * causes. Free with source_free() in any case. The number of threads changes neither the answer
 * nor the order of notices.
 */
int source_load(const struct source_options *options, struct source *out, struct error *e);
void source_free(struct source *source);

#endif
