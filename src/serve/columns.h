/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of many spans as columns: one for each key and kind of value, with the spans that have
 * it. A text that occurs often is written once.
 */
#ifndef SERVE_COLUMNS_H
#define SERVE_COLUMNS_H

#include "base/json.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "span/received.h"

/* Texts by their numbers, from 0, which is that of "". What they point to is the caller's. */
struct column_texts {
	VEC(const char *) list;
	struct bytes_map numbers; /* from 1 */
};

/* Starts with all zero. The number of a text. 0 or -ENOMEM; free them in any case. */
int column_text(struct column_texts *texts, const char *text, uint32_t *number);
void column_texts_write(struct json *j, const char *key, const struct column_texts *texts);
void column_texts_free(struct column_texts *texts);

enum column_kind {
	COLUMN_TEXT,  /* numbers of texts */
	COLUMN_VALUE, /* numbers that a double holds, and booleans */
	COLUMN_JSON,  /* of all others: numbers of texts that are JSON */
};

struct column_value {
	uint32_t span;
	uint32_t text;			 /* of COLUMN_TEXT and COLUMN_JSON */
	const struct attribute *literal; /* of COLUMN_VALUE */
};

struct column {
	const char *key;
	enum column_kind kind;
	VEC(struct column_value) values; /* in the order of spans */
};

/* Starts with all zero but for the pool, which gets texts of JSON. */
struct columns {
	struct pool *pool;
	struct column_texts texts;
	VEC(struct column) list;
	struct bytes_map numbers; /* from 1, by kind and key */
	VEC(uint32_t) usual;	  /* the column of each attribute of the last span */
};

/* Adds the attributes of the next span. 0 or -ENOMEM; free it in any case. */
int columns_add(struct columns *c, uint32_t span, const struct received_list *attributes);
/*
 * Writes an array of objects: `key`, `kind` (text, value, json), `values`, and `spans`, which is
 * left out where all of `count` spans have it.
 */
void columns_write(struct json *j, const char *key, const struct columns *c, size_t count);
void columns_free(struct columns *c);

#endif
