/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

const char *texts_keep(struct texts *t, const char *text, size_t bytes)
{
	u64 hash = hash_bytes(text, bytes);
	struct text_recent *recent = &t->recent[hash >> (64 - TEXTS_RECENT_BITS)];
	char *copy;

	if (recent->text && recent->hash == hash && recent->bytes == bytes &&
	    memcmp(recent->text, text, bytes) == 0)
		return recent->text;
	copy = arena_take(&t->arena, bytes + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	*recent = (struct text_recent){hash, copy, bytes};
	return copy;
}

int texts_merge(struct texts *left, struct texts *right)
{
	bool first = !left->arena.blocks.count;
	int err = arena_merge(&left->arena, &right->arena);

	if (err)
		return err;
	if (first) /* and what it knows of them */
		memcpy(left->recent, right->recent, sizeof(left->recent));
	memset(right->recent, 0, sizeof(right->recent));
	return 0;
}

void texts_free(struct texts *t)
{
	arena_free(&t->arena);
	memset(t->recent, 0, sizeof(t->recent));
}

char *text_copy(const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	return copy;
}
