/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given out in pieces and freed at once. Start with all zero. A limit bounds what
 * hostile input can make a reader take. Not thread-safe.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

struct pool_block;
struct quota;

struct pool {
	struct pool_block *blocks; /* the newest first */
	size_t bytes;		   /* in all blocks */
	size_t limit_bytes;	   /* of all blocks; 0: none */
	struct quota *quota;	   /* that it shares with other pools; NULL: none */
};

/* Memory of `count` elements of `size` bytes, zeroed and aligned to 16; NULL if there is none. */
void *pool_alloc(struct pool *a, size_t count, size_t size);

/* Gives back all pieces, and keeps one block for the next ones. */
void pool_reset(struct pool *a);

/* Frees everything. The limit stays. */
void pool_free(struct pool *a);

#endif
