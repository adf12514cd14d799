/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the leaves of an answer by several threads. A leaf is a part of the answer that is mapped
 * without any other one. The thread that opened the mapper takes the results in the order of the
 * leaves, merges them, and tells what was found: so the number of threads changes no answer, and
 * not the order of notices. Only a few leaves are mapped ahead of it, which bounds the memory.
 *
 *   mapper_open(&m, leaves, count, &options, threads);
 *   for (i = 0; i < count; i++)
 *           mapper_take(m, i, covered_ns, &mapped);     merge mapped.partial
 *   mapper_close(m);
 */
#ifndef ANSWER_MAPPER_H
#define ANSWER_MAPPER_H

#include <stddef.h>

#include "base/error.h"
#include "map/chunk_map.h"

struct leaf {
	const struct chunk_info *chunk; /* borrowed */
	/*
	 * To where the leaves before are expected to cover, see struct chunk_task. Another one of
	 * them that cannot be read covers less: then the leaf is mapped once more when it is taken.
	 */
	u64 covered_ns;
};

/* What came of a leaf. */
struct leaf_mapped {
	struct partial *partial; /* of whoever takes it; NULL after a failure */
	struct chunk_found found;
	int err; /* a negative errno, of which `why` is the cause; 0 */
	struct error why;
};

struct mapper;

/*
 * Begins to map `count` leaves, which are borrowed until the mapper is closed, by `threads` threads
 * with the caller's; 0: as many as the caller may use CPUs. 0 and *mapper, or -ENOMEM. A mapper is
 * used by one thread.
 */
int mapper_open(struct mapper **mapper, const struct leaf *leaves, size_t count,
		const struct partial_options *options, u64 threads);

/*
 * What came of leaf `at`, for which the leaves before cover the time up to covered_ns. Maps leaves
 * while others have not ended theirs. A later call must ask for a later leaf; those between are
 * dropped.
 */
void mapper_take(struct mapper *mapper, size_t at, u64 covered_ns, struct leaf_mapped *out);

/* Waits until no thread maps anything, and frees what was not taken. NULL is fine. */
void mapper_close(struct mapper *mapper);

#endif
