/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/quota.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 16

struct pool_block {
	struct pool_block *next;
	size_t bytes, used;
	alignas(ALIGNMENT) unsigned char data[];
};

static struct pool_block *block_add(struct pool *a, size_t bytes)
{
	struct pool_block *block;
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

	if (a->limit_bytes && (size > a->limit_bytes || a->bytes > a->limit_bytes - size))
		return NULL;
	if (!quota_take(a->quota, size))
		return NULL;
	block = malloc(sizeof(*block) + size);
	if (!block) {
		quota_give(a->quota, size);
		return NULL;
	}
	block->next = a->blocks;
	block->bytes = size;
	block->used = 0;
	a->blocks = block;
	a->bytes += size;
	return block;
}

void *pool_alloc(struct pool *a, size_t count, size_t size)
{
	struct pool_block *block = a->blocks;
	size_t bytes;
	void *piece;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || block->bytes - block->used < bytes)
		block = block_add(a, bytes);
	if (!block)
		return NULL;
	piece = block->data + block->used;
	block->used += bytes;
	return memset(piece, 0, bytes);
}

void pool_reset(struct pool *a)
{
	struct pool_block *first = a->blocks;

	if (!first)
		return;
	while (first->next) {
		struct pool_block *next = first->next;

		first->next = next->next;
		a->bytes -= next->bytes;
		quota_give(a->quota, next->bytes);
		free(next);
	}
	first->used = 0;
}

void pool_free(struct pool *a)
{
	pool_reset(a);
	quota_give(a->quota, a->bytes);
	free(a->blocks);
	a->blocks = NULL;
	a->bytes = 0;
}
