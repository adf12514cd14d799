/* SPDX-License-Identifier: Apache-2.0 */
/* Reads attributes that are in columns of their own. */
#ifndef STORE_TYPED_READ_H
#define STORE_TYPED_READ_H

#include "base/pool.h"
#include "store/typed.h"

struct typed_reading {
	const struct typed *typed; /* of the file; NULL: it has no such columns */
	struct pool *pool;
	const char *keys[TYPED_PLACES]; /* copies of its keys */
};

/*
 * Adds TYPED_PLACES columns to a SELECT: those that have keys, and constants in place of the
 * others, since each column costs time. A span that is stored in this moment may lack a key that
 * gets its column now.
 */
void typed_columns_add(struct statement *s, const struct typed *typed);

/*
 * Puts the attributes in these columns, which begin at `first`, before those in the list. What they
 * point to is in the pool. 0 or -ENOMEM.
 */
int typed_read(struct typed_reading *r, const struct row *row, unsigned int first,
	       struct received_list *list);

#endif
