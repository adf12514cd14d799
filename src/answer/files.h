/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from partial files, alone or together with recordings. */
#ifndef ANSWER_FILES_H
#define ANSWER_FILES_H

#include "answer/load.h"
#include "map/file/file.h"

/* Whether a path names a file and no directory, as a partial does. */
bool is_partial_path(const char *path);

/* Whether one of the paths does. */
bool has_partial_path(const char *const *paths, size_t count);

/*
 * Reads and merges partial files. Kernel spans are left out unless options->spans says to keep
 * them. 0 and *out, which is the caller's, or a negative errno with the causes, which name the
 * file.
 */
int files_merge(const char *const *paths, size_t count, const struct partial_options *options,
		struct partial_file **out, struct error *e);

struct source_list {	      /* a VEC */
	struct source **data; /* owned */
	size_t count, capacity;
};

/*
 * Loads the latest boot of each host, as sources_load() does, where options->dirs name a partial
 * file. Chunks that they name besides are mapped as the files were. The range is that of the files:
 * `from` and `to` must not be given. `out` is empty, and gets the hosts in the order of their
 * names, also before a failure; *several says whether there are others. 0 or a negative errno.
 */
int files_load(const struct source_options *options, struct source_list *out, bool *several,
	       struct error *e);

#endif
