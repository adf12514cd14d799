/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of facts. A server opens the same few files again and again: as a rule a text that came
 * before is not kept again. Equal texts may still stand at two places.
 *
 * Not thread-safe.
 */
#ifndef MAP_FACT_TEXTS_H
#define MAP_FACT_TEXTS_H

#include "map/fact/arena.h"
#include "record/record.h"

#define TEXTS_RECENT_BITS 9

struct text_recent {
	u64 hash;
	const char *text; /* NULL: none */
	size_t bytes;
};

/* Starts with all zero. */
struct texts {
	struct arena arena;
	struct text_recent recent[1 << TEXTS_RECENT_BITS]; /* by hash */
};

/* A copy of the text with a NUL behind it, which lives as long as `t`; NULL: no memory. */
const char *texts_keep(struct texts *t, const char *text, size_t bytes);

/* Moves the texts of `right`, which is left empty. 0, or -ENOMEM with both as they were. */
int texts_merge(struct texts *left, struct texts *right);

void texts_free(struct texts *t);

/* A copy of text with a NUL behind it, the caller's; NULL if there is no memory. */
char *text_copy(const char *text, size_t bytes);

#endif
