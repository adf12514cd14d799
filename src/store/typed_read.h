/* SPDX-License-Identifier: Apache-2.0 */
/* Reads attributes that are in columns of their own. */
#ifndef STORE_TYPED_READ_H
#define STORE_TYPED_READ_H

#include "base/pool.h"
#include "store/typed.h"

struct typed_reading {
	const struct typed *typed; /* of the file; NULL: it has no such columns */
	struct pool *pool;
	unsigned int texts, numbers;	/* columns of each that a SELECT has */
	const char *keys[TYPED_PLACES]; /* copies of its keys */
};

/*
 * Adds the columns that have keys to a SELECT, and notes how many these are, since each column
 * costs time. A span that is stored in this moment may lack a key that gets its column now.
 */
void typed_columns_add(struct statement *s, struct typed_reading *r);

/*
 * Puts the attributes in these columns, which begin at `first`, before those in the list. What they
 * point to is in the pool. 0 or -ENOMEM.
 */
int typed_read(struct typed_reading *r, const struct row *row, unsigned int first,
	       struct received_list *list);

#endif
