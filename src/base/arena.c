/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 16

struct arena_block {
	struct arena_block *next;
	size_t bytes, used;
	alignas(ALIGNMENT) unsigned char data[];
};

static struct arena_block *block_add(struct arena *a, size_t bytes)
{
	struct arena_block *block;
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

	if (a->limit_bytes && (size > a->limit_bytes || a->bytes > a->limit_bytes - size))
		return NULL;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	block->next = a->blocks;
	block->bytes = size;
	block->used = 0;
	a->blocks = block;
	a->bytes += size;
	return block;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
	struct arena_block *block = a->blocks;
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

void arena_reset(struct arena *a)
{
	struct arena_block *first = a->blocks;

	if (!first)
		return;
	while (first->next) {
		struct arena_block *next = first->next;

		first->next = next->next;
		a->bytes -= next->bytes;
		free(next);
	}
	first->used = 0;
}

void arena_free(struct arena *a)
{
	arena_reset(a);
	free(a->blocks);
	a->blocks = NULL;
	a->bytes = 0;
}
