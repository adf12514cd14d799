/* SPDX-License-Identifier: Apache-2.0 */
#include "map/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BLOCK_BYTES 4096 /* the first; later ones are larger */
#define BLOCK_MOST (1u << 18)

/* Room for so many bytes; NULL if there is no memory. */
static char *texts_room(struct texts *t, size_t bytes)
{
	size_t size = t->blocks.count < 8 ? (size_t)BLOCK_BYTES << t->blocks.count : BLOCK_MOST;
	char *at;

	if (bytes > t->left) {
		if (size < bytes)
			size = bytes;
		at = malloc(size);
		if (!at || vec_push(&t->blocks, at)) {
			free(at);
			return NULL;
		}
		t->at = at;
		t->left = size;
	}
	at = t->at;
	t->at += bytes;
	t->left -= bytes;
	return at;
}

const char *texts_keep(struct texts *t, const char *text, size_t bytes)
{
	u64 hash = hash_bytes(text, bytes);
	struct text_recent *recent = &t->recent[hash >> (64 - TEXTS_RECENT_BITS)];
	char *copy;

	if (recent->text && recent->hash == hash && recent->bytes == bytes &&
	    memcmp(recent->text, text, bytes) == 0)
		return recent->text;
	copy = texts_room(t, bytes + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	*recent = (struct text_recent){hash, copy, bytes};
	return copy;
}

int texts_merge(struct texts *left, struct texts *right)
{
	int err = vec_reserve(&left->blocks, right->blocks.count);

	if (err)
		return err;
	if (!left->blocks.count) { /* and what it knows of them */
		texts_free(left);
		*left = *right;
		*right = (struct texts){0};
		return 0;
	}
	/* the last block stays the last, since it has room */
	for (size_t i = 0; i < right->blocks.count; i++)
		left->blocks.data[left->blocks.count++] = right->blocks.data[i];
	right->blocks.count = 0;
	texts_free(right);
	return 0;
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->blocks.count; i++)
		free(t->blocks.data[i]);
	vec_free(&t->blocks);
	*t = (struct texts){0};
}
