/* SPDX-License-Identifier: Apache-2.0 */
/* The inner structure of a chunk reader, shared with recover.c. */
#ifndef CHUNK_READER_H
#define CHUNK_READER_H

#include "base/vec.h"
#include "chunk/chunk.h"
#include "chunk/manifest.h"
#include "chunk/stream.h"

struct reader_stream {
	struct stream stream;
	uint64_t expected; /* number of records in the manifest */
	uint64_t bytes;	   /* size of the file in the manifest */
	uint32_t crc;
	bool has_expected;
	bool has_bytes;
	bool finished;
	uint8_t hole; /* enum hole_next */
	uint64_t hole_from_ns, hole_to_ns;
};

/* An entry of the heap that merges the streams. */
struct reader_next {
	uint64_t at_ns; /* time of its next record, or of the record about a hole */
	struct reader_stream *stream;
};

/* The records about a hole that are due before the next record of its stream. */
enum hole_next { HOLE_NONE, HOLE_BEGINS, HOLE_ENDS };

struct chunk_reader {
	int dir;
	struct chunk_info info;
	bool has_manifest;
	bool manifest_damaged;
	int manifest_err;  /* why the manifest could not be read */
	bool count_losses; /* by reading the records, since no manifest has their sum */
	struct reader_stream *streams;
	size_t count;
	size_t capacity;
	struct stream_budget budget;
	struct reader_next *heap; /* of streams with a next record */
	size_t heap_count;
	uint64_t others_ns;		/* the earliest time below the top */
	bool stepping;			/* the last delivered record is of the stream on top */
	struct record_lost hole;	/* delivered in place of a damaged part */
	VEC(struct record_lost) begins; /* begins of losses, by time */
	size_t begins_told;
	bool measured;	   /* chunk_reader_measure() was called: no record is delivered */
	char damage[4096]; /* "" if nothing is damaged */
};

/*
 * Does what chunk_reader_open() does for the last name of `path` in the directory `parent`, which
 * must not be a link. For callers that delete or change the chunk.
 */
int chunk_reader_open_at(struct chunk_reader **reader, int parent, const char *path,
			 struct error *e);

/* Sets the damage, in the file `name` unless that is NULL. Only the first one is kept. */
void chunk_reader_set_damage(struct chunk_reader *r, const char *name, const char *why);

/*
 * Compares the files and their sizes with the manifest's list, without reading them. A difference
 * is damage.
 */
void chunk_reader_check_files(struct chunk_reader *r);

/* Whether a manifest has the sums. If not, chunk_reader_measure() finds them. */
bool chunk_reader_has_sums(const struct chunk_reader *r);

/* Whether this is the stream of a CPU that must have one from the begin on. */
bool chunk_stream_is_due(const struct chunk_info *info, const char *name);

/* Bounds complete_ns and end_ns by the end of a stream that was read. */
void chunk_stream_bound(struct chunk_info *info, const struct stream *stream);

/* Sets begin and clock from the name and the packets, if nothing else has set them. */
void chunk_clock_bound(const struct chunk_reader *reader, struct chunk_info *info);

/* Bounds complete_ns of a chunk in which `due` of the streams that must exist were found. */
void chunk_complete_bound(struct chunk_info *info, uint64_t due);

/* Reads the begins of losses into r->begins. 0 or -ENOMEM. */
int chunk_reader_find_losses(struct chunk_reader *r);

/*
 * Reads the whole chunk, up to the last whole packet of each stream, and fills the sums, the end
 * and the identity in its info. A sealed chunk without these counts as recovered. No record can be
 * read after that. 0 or -ENOMEM.
 */
int chunk_reader_measure(struct chunk_reader *r, struct error *e);

#endif
