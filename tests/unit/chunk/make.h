/* SPDX-License-Identifier: Apache-2.0 */
/* Makes records and directories for the tests of chunks. */
#ifndef TESTS_UNIT_CHUNK_MAKE_H
#define TESTS_UNIT_CHUNK_MAKE_H

#include "chunk/chunk.h"
#include "record/describe.h"

union make_record {
	struct record_head head;
	unsigned char bytes[8192];
};

/* A sequence that is the same in each run. */
uint64_t make_random(uint64_t *state);

/* A whole record of a kind with random values, texts up to 300 bytes. */
void make_any(union make_record *r, unsigned int kind, uint64_t time_ns, uint64_t *state);

/* A small record: a syscall of tid 7. */
void make_syscall(union make_record *r, uint64_t time_ns, uint16_t cpu, uint64_t result);

/* Do both say the same (seq, slots and padding aside)? Texts up to their length. */
bool make_same(const struct record_head *a, const struct record_head *b);

/* A new empty directory, removed with all in it when the program ends. */
const char *make_directory(void);

/* Removes the directory that was made last, which must be this one. */
void make_forget(const char *dir);

/* A chunk of n syscalls on 2 CPUs, sealed, from time 1000 on, 1000 apart; its info. */
void make_chunk(const char *dir, uint64_t begin_ns, unsigned int n, bool compress,
		struct chunk_info *info);

/* Begins a chunk, with a record of time 1010 in the stream. */
struct chunk_writer *make_begun(const struct chunk_writer_options *options,
				enum chunk_stream_kind kind);

/* Writes a chunk of 100 ns with a loss of one record, of this boot, begun at this Unix time. */
void make_boot(const char *dir, const char *boot_id, uint64_t unix_ns, uint64_t begin_ns);

/*
 * A sealed chunk of n short syscalls, each of another thread: `each_a_process` or all of one. A
 * reader must not think that so few bytes ask for as little memory.
 */
void make_threads(const char *dir, uint32_t n, bool each_a_process, bool compress,
		  struct chunk_info *info);

/* Reads all of a chunk: records, and what is missing of it. */
uint64_t make_count(const char *path, struct chunk_info *info);

/* The records of a recording, chunk after chunk; all zero but `info` at the begin. */
struct make_walk {
	const struct recording_info *info;
	size_t next; /* chunk */
	struct chunk_reader *reader;
};

/* The next one: false at the end. */
bool make_walk_next(struct make_walk *walk, const struct record_head **record);

/* The path of a file in a directory, static memory. */
const char *make_path(const char *dir, const char *name);

/* Whether a reader told it in place of damaged records. */
bool make_is_hole(const struct record_head *record);

/* Has a stream count records that never came; see chunk_writer_lost(). */
int make_lost(struct chunk_stream *stream, enum record_loss why, uint64_t count, uint64_t begin_ns,
	      uint64_t end_ns);

#endif
