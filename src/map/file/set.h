/* SPDX-License-Identifier: Apache-2.0 */
/* The set of chunks that a partial file has, and what must hold of it. */
#ifndef MAP_FILE_SET_H
#define MAP_FILE_SET_H

#include "map/file/file.h"

/* Inserts `value` into a list before the element `at`. 0 or -ENOMEM. */
#define LIST_INSERT(list, at, value)                                                               \
	({                                                                                         \
		int insert_err_ = vec_push(list, value);                                           \
		size_t at_ = (at);                                                                 \
		if (!insert_err_) {                                                                \
			memmove(&(list)->data[at_ + 1], &(list)->data[at_],                        \
				((list)->count - 1 - at_) * sizeof(*(list)->data));                \
			(list)->data[at_] = (value);                                               \
		}                                                                                  \
		insert_err_;                                                                       \
	})

/* Whether it has a time, and its times are in order. */
bool partial_chunk_holds(const struct partial_chunk *chunk);

/* Whether the partial can be of the chunks of its run. */
bool partial_run_holds(const struct partial_run *run);

/* Whether its checkpoints are in their order. */
bool partial_boot_holds(const struct partial_boot *boot);

/* Lists the identities of its chunks. 0; -EEXIST if a chunk is in it twice; -ENOMEM. */
int partial_file_identify(struct partial_file *file);

/*
 * Adds a copy of a chunk behind all others, to the last run if it follows without a gap, else as
 * a run of its own; the partial is still to come. 0; -EEXIST if it does not lie behind them, or
 * is of the same time; -ENOMEM.
 */
int partial_boot_append(struct partial_boot *boot, const struct partial_chunk *chunk);

/* The boot of that id; NULL: the file has none. */
struct partial_boot *partial_file_boot(const struct partial_file *file, const char *boot_id);
/* The same, made if there is none; NULL if memory ran out. */
struct partial_boot *partial_boot_get(struct partial_file *file, const char *boot_id);

typedef int partial_chunk_fn(void *arg, const struct partial_chunk *chunk);

/* Calls a function for each chunk until it does not return 0. Returns what the last call returned.
 */
int partial_chunks_each(const struct partial_file *file, partial_chunk_fn *each, void *arg);

/* A function for this: adds the chunk to a set of identities (arg). 0, -EEXIST or -ENOMEM. */
int partial_identity_add(void *arg, const struct partial_chunk *chunk);

/* Compares two chunks by time, for sorting. */
int partial_chunk_compare(const struct partial_chunk *x, const struct partial_chunk *y);
int partial_checkpoint_compare(const struct recording_checkpoint *x,
			       const struct recording_checkpoint *y);

const struct partial_chunk *partial_run_last(const struct partial_run *run);
void partial_run_free(struct partial_run *run);

/* Whether a chunk that should lie behind a run is of its time, as two recorders at once make it. */
bool partial_run_overlaps(const struct partial_run *run, const struct partial_chunk *next);

/* Whether nothing can come between a run and a chunk that lies behind it. */
bool partial_run_follows(const struct partial_run *run, const struct partial_chunk *next);

#endif
