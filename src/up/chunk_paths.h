/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a time that are left in the directory of `fathom up`, else those of a pin. */
#ifndef UP_CHUNK_PATHS_H
#define UP_CHUNK_PATHS_H

#include "base/error.h"
#include "base/vec.h"
#include "record/record.h"

/* What is looked for. `dir` is a descriptor of the directory, and `path` a path to it. */
struct chunk_paths_query {
	int dir;
	const char *path;
	u64 from_ns, to_ns; /* since 1970 */
	u64 before_ns;	    /* chunks that end at most so long before are taken, too */
	size_t most;	    /* of chunks */
};

typedef VEC(char *) chunk_path_list;

/*
 * 0; -ENOENT: no chunk of that time is left; -E2BIG: there are more than that; or another negative
 * errno, with a cause. Free the list in any case.
 */
int chunk_paths_find(const struct chunk_paths_query *query, chunk_path_list *out, struct error *e);
void chunk_paths_free(chunk_path_list *paths);

#endif
