/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which attributes have columns of their own in a file: those that many of its spans have.
 *
 * A key that TYPED_SEEN spans of a transaction have, with texts or with integers, gets a place in
 * the file, and its column, before the next transaction, and keeps it. Spans that came before have
 * the attribute in the column `attributes`, as has a value that does not fit. The columns are:
 *
 *   s0, s1, ...  texts in ASCII, without quotes, backslashes and control characters; "": none
 *   n0, n1, ...  integers from 0 on, plus 1; 0: none
 *
 * The table `typed` has the keys: place (of texts; those of integers are above), key. One thread
 * gives places; any thread reads those that have a key, whose columns are there.
 */
#ifndef STORE_TYPED_H
#define STORE_TYPED_H

#include <stdatomic.h>

#include "base/map.h"
#include "span/received.h"
#include "store/database.h"

#define TYPED_TEXTS 16
#define TYPED_NUMBERS 16
#define TYPED_PLACES (TYPED_TEXTS + TYPED_NUMBERS)
#define TYPED_KEY_BYTES 64
#define TYPED_SEEN 64
#define TYPED_NONE (-1)

#define TYPED_TEXT_COLUMNS(F)                                                                      \
	F(s0)                                                                                      \
	F(s1)                                                                                      \
	F(s2) F(s3) F(s4) F(s5) F(s6) F(s7) F(s8) F(s9) F(s10) F(s11) F(s12) F(s13) F(s14) F(s15)
#define TYPED_NUMBER_COLUMNS(F) F(n0) TYPED_NUMBER_REST(F)
#define TYPED_NUMBER_REST(F)                                                                       \
	F(n1)                                                                                      \
	F(n2) F(n3) F(n4) F(n5) F(n6) F(n7) F(n8) F(n9) F(n10) F(n11) F(n12) F(n13) F(n14) F(n15)

/* The keys of a file. */
struct typed {
	atomic_uint texts, numbers; /* so many places of each have keys */
	char keys[TYPED_PLACES][TYPED_KEY_BYTES];
	/* those that are to get a place, behind 's' or 'n'; for the thread that appends */
	unsigned int wanted;
	char wanted_keys[TYPED_PLACES][1 + TYPED_KEY_BYTES];
};

/* What the thread that appends remembers. Start with all zero. */
struct typed_learning {
	struct bytes_map seen; /* how many spans have a key that has no place, by type and key */
	int8_t hints[64];      /* the place + 1 of the i-th attribute of the last span */
};

/* The name of the column of a place. */
const char *typed_column(int place);

/* The place of a key with texts or with integers; TYPED_NONE. */
int typed_find(const struct typed *t, const char *key, bool is_text);

/*
 * The place of the `index`-th attribute of a span; TYPED_NONE: its value does not fit, or its key
 * has none, and may be wanted now. For the thread that appends.
 */
int typed_place(struct typed *t, struct typed_learning *l, const struct attribute *a, size_t index);

/* Whether a text could be in a column. */
bool typed_text_fits(const char *text, size_t bytes);

void typed_learning_free(struct typed_learning *l);

/* Reads the keys of the file that the connection uses. */
int typed_load(struct typed *t, struct database *db, duckdb_connection connection, struct error *e);

/* The place that the i-th wanted key would get; TYPED_NONE. */
int typed_next(const struct typed *t, unsigned int i);

/* Writes the wanted key into the file, with that place. */
int typed_store(const struct typed *t, unsigned int i, struct database *db,
		duckdb_connection connection, struct error *e);

/* The key has that place from now on: this is committed. */
void typed_give(struct typed *t, unsigned int i);

#endif
