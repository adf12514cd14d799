/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define BLOCK_LEAST ((size_t)4096)
#define BLOCK_MOST ((size_t)1 << 20)

/* Few partials have much: each block is larger than the one before. */
static int block_add(struct arena *a, size_t bytes)
{
	size_t size = a->blocks.count < 8 ? BLOCK_LEAST << a->blocks.count : BLOCK_MOST;
	char *block;

	if (size < bytes)
		size = bytes;
	block = malloc(size);
	if (!block || vec_push(&a->blocks, block)) {
		free(block);
		return -ENOMEM;
	}
	a->at = block;
	a->left = size;
	return 0;
}

void *arena_take(struct arena *a, size_t bytes)
{
	char *at;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > a->left && block_add(a, bytes))
		return NULL;
	at = a->at;
	a->at += bytes;
	a->left -= bytes;
	return at;
}

int arena_merge(struct arena *left, struct arena *right)
{
	bool first = !left->blocks.count;
	int err = vec_move(&left->blocks, &right->blocks);

	if (err)
		return err;
	if (first) {
		left->at = right->at;
		left->left = right->left;
	}
	right->at = NULL;
	right->left = 0;
	return 0;
}

void arena_free(struct arena *a)
{
	for (size_t i = 0; i < a->blocks.count; i++)
		free(a->blocks.data[i]);
	vec_free(&a->blocks);
	a->at = NULL;
	a->left = 0;
}
