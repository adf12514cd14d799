/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a chunk reader: shared with recover.c. */
#ifndef CHUNK_READER_H
#define CHUNK_READER_H

#include "base/vec.h"
#include "chunk/chunk.h"
#include "chunk/manifest.h"
#include "chunk/stream.h"

struct reader_stream {
	struct stream stream;
	uint64_t expected; /* records, by the manifest */
	uint64_t bytes;	   /* of the file, likewise */
	uint32_t crc;
	bool has_expected;
	bool has_bytes;
	bool finished;
	uint8_t hole; /* enum hole_next */
	uint64_t hole_from_ns, hole_to_ns;
};

/* In the merge. */
struct reader_next {
	uint64_t at_ns; /* of its next record, or of what is told of a hole */
	struct reader_stream *stream;
};

/* What is told of a hole before the next record of its stream. */
enum hole_next { HOLE_NONE, HOLE_BEGINS, HOLE_ENDS };

struct chunk_reader {
	int dir;
	struct chunk_info info;
	bool has_manifest;
	bool manifest_damaged;
	int manifest_err;  /* why its manifest was not read */
	bool count_losses; /* from the records: no manifest sums them up */
	struct reader_stream *streams;
	size_t count;
	size_t capacity;
	struct stream_budget budget;
	struct reader_next *heap; /* of streams that stand before a record */
	size_t heap_count;
	uint64_t others_ns;		/* of the earliest behind the one on top */
	bool stepping;			/* the record delivered last is of the stream on top */
	struct record_lost hole;	/* told in place of what is damaged */
	VEC(struct record_lost) begins; /* of losses, by time */
	size_t begins_told;
	bool measured;	   /* nobody asks for them */
	char damage[4096]; /* "" if nothing is damaged */
};

/*
 * chunk_reader_open() of what has the last name of `path` in the directory `parent`, and is no
 * link: for whoever deletes or changes what he reads.
 */
int chunk_reader_open_at(struct chunk_reader **reader, int parent, const char *path,
			 struct error *e);

/* Says why the chunk is damaged, in `name` if that is not NULL; the first reason stays. */
void chunk_reader_set_damage(struct chunk_reader *r, const char *name, const char *why);

/*
 * Compares which files there are, and their sizes, with the manifest's list; reads none of
 * them. What differs is damage.
 */
void chunk_reader_check_files(struct chunk_reader *r);

/* False: no manifest says what is in it, chunk_reader_measure() would. */
bool chunk_reader_has_sums(const struct chunk_reader *r);

/* Is this the stream of a CPU that has one from the begin on? */
bool chunk_stream_is_due(const struct chunk_info *info, const char *name);

/* Bounds complete_ns and end_ns by where a stream of the chunk ends, which was read. */
void chunk_stream_bound(struct chunk_info *info, const struct stream *stream);

/* Sets begin and clock from the chunk's name and what was read, where nothing else told them. */
void chunk_clock_bound(const struct chunk_reader *reader, struct chunk_info *info);

/* Bounds complete_ns of a chunk of which so many streams that are due were found. */
void chunk_complete_bound(struct chunk_info *info, uint64_t due);

/* Reads when losses begin into r->begins. 0 or -ENOMEM. */
int chunk_reader_find_losses(struct chunk_reader *r);

/*
 * Reads all of it, up to the last whole packet of each stream, and fills the sums, the end
 * and the identity in its info; a sealed chunk without them counts as recovered. No record
 * can be read from it after that. 0 or -ENOMEM.
 */
int chunk_reader_measure(struct chunk_reader *r, struct error *e);

#endif
