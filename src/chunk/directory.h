/* SPDX-License-Identifier: Apache-2.0 */
/* Names of chunks in a recording's directory. */
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

/* Is this the name of a chunk, sealed or open? */
bool chunk_name_parse(const char *text, struct chunk_name *name);
void chunk_name_sealed(char *text, uint64_t begin_unix_ns, uint64_t end_unix_ns, uint64_t seq);
void chunk_name_open(char *text, uint64_t begin_unix_ns, uint64_t seq);

/* A descriptor of a recording's directory, with an offset of its own; or a negative errno. */
int recording_directory(const char *dir, const struct recording_hold *hold);

/*
 * Lists the chunks in a directory (by way of `hold`, which may be NULL): 0 or negative errno.
 * Free with chunk_names_free().
 */
int chunk_names_list(const char *dir, const struct recording_hold *hold, struct chunk_names *names,
		     struct error *e);
void chunk_names_free(struct chunk_names *names);

/*
 * Makes a directory for `owner` alone (NULL: the effective user), and opens it.
 * 0 or negative errno: -EEXIST if there is something of that name.
 */
int chunk_directory_make(int parent, const char *name, const struct chunk_owner *owner, int *dir);

/* Does a recorder write to it? Needs no more than to read it. */
bool recording_is_written(const char *dir);

/* Removes a directory of plain files in another: 0 or negative errno. Follows no link. */
int chunk_directory_remove_at(int parent, const char *name);
/* The same of one that is open as `dir`, which is closed: it needs no other descriptor. */
int chunk_directory_remove(int parent, const char *name, int dir);

#endif
