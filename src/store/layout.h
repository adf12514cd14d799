/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which columns the table `spans` of a file has behind those of columns.h: each costs time with
 * every row, also where it is empty.
 *
 *   user_ns, ...         the split, all parts in their order; from the first span on that has one
 *   s0, ..., n0, ...     those of typed.h, for keys that have a place, in any order
 *
 * Files up to version 7 have all of them. For the thread that appends.
 */
#ifndef STORE_LAYOUT_H
#define STORE_LAYOUT_H

#include "store/typed.h"

struct layout {
	unsigned int columns;
	unsigned int first_part;     /* its column; 0: there is no split */
	uint8_t typed[TYPED_PLACES]; /* columns of places; 0: none */
};

/* Reads it from the file that the connection uses. */
int layout_load(struct layout *l, struct database *db, duckdb_connection connection,
		struct error *e);

/* Adds columns in the transaction. `l` has them then. */
int layout_add_parts(struct layout *l, struct database *db, duckdb_connection connection,
		     struct error *e);
int layout_add_typed(struct layout *l, int place, struct database *db, duckdb_connection connection,
		     struct error *e);

#endif
