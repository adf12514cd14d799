/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the leaves of an answer with several threads. A leaf is a part of the answer that is mapped
 * without any other part. The thread that opened the mapper takes the results in the order of the
 * leaves, merges them, and reports what was found. So the number of threads changes neither the
 * answer nor the order of notices. Only a few leaves are mapped ahead, which bounds the memory.
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
	 * The time up to which the leaves before are expected to cover: see struct chunk_task. If
	 * one of them cannot be read, they cover less, and this leaf is mapped again when it is
	 * taken.
	 */
	u64 covered_ns;
};

/* The result of a leaf. */
struct leaf_mapped {
	struct partial *partial; /* owned by the caller that takes it; NULL after a failure */
	struct chunk_found found;
	int err; /* 0, or a negative errno with its cause in `why` */
	struct error why;
};

struct mapper;

/*
 * Begins to map `count` leaves, which are borrowed until the mapper is closed. `threads` is the
 * number of threads, including the caller's; 0: one for each CPU that the caller may use. 0 and
 * *mapper, or -ENOMEM. Only the calling thread uses the mapper.
 */
int mapper_open(struct mapper **mapper, const struct leaf *leaves, size_t count,
		const struct partial_options *options, u64 threads);

/*
 * Takes the result of leaf `at`. The leaves before it cover the time up to covered_ns. Maps other
 * leaves while it waits. Each call must take a later leaf; leaves in between are dropped.
 */
void mapper_take(struct mapper *mapper, size_t at, u64 covered_ns, struct leaf_mapped *out);

/* Waits until no thread maps a leaf, and frees results that were not taken. NULL is allowed. */
void mapper_close(struct mapper *mapper);

#endif
