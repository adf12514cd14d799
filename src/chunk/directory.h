/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of recordings and of chunks, and the names of chunks. */
#ifndef CHUNK_DIRECTORY_H
#define CHUNK_DIRECTORY_H

#include "chunk/chunk.h"

struct chunk_name {
	char name[CHUNK_NAME_BYTES];
	uint64_t begin_unix_ns;
	uint64_t end_unix_ns; /* 0 while it is open */
	uint64_t seq;
	bool open;
};

struct chunk_names {
	struct chunk_name *names; /* sorted by (begin, seq) */
	size_t count;
};

/* Whether this is the name of a chunk, sealed or open; fills *name. */
bool chunk_name_parse(const char *text, struct chunk_name *name);
void chunk_name_sealed(char *text, uint64_t begin_unix_ns, uint64_t end_unix_ns, uint64_t seq);
void chunk_name_open(char *text, uint64_t begin_unix_ns, uint64_t seq);

/* Returns a new descriptor of a recording's directory, with its own offset, or a negative errno. */
int recording_directory(const char *dir, const struct recording_hold *hold);

/*
 * Lists the chunks in a directory (through `hold`, which may be NULL). 0 or a negative errno. Free
 * the list with chunk_names_free().
 */
int chunk_names_list(const char *dir, const struct recording_hold *hold, struct chunk_names *names,
		     struct error *e);
void chunk_names_free(struct chunk_names *names);

/*
 * Makes a directory that only `owner` (NULL: the effective user) can access, and opens it.
 * 0, -EEXIST if the name exists, or another negative errno.
 */
int chunk_directory_make(int parent, const char *name, const struct chunk_owner *owner, int *dir);

/* Whether a recorder uses the directory. Needs only permission to read. */
bool recording_is_written(const char *dir);

/* Removes a directory of plain files in another one. Follows no link. 0 or a negative errno. */
int chunk_directory_remove_at(int parent, const char *name);
/* The same for a directory that is open as `dir`; closes it. Needs no other descriptor. */
int chunk_directory_remove(int parent, const char *name, int dir);

#endif
