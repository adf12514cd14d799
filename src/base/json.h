/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON to a stream as it comes, in one pass and without memory.
 *
 * Every value has a key inside an object, and NULL inside an array or at the
 * top. The text is always valid UTF-8: a byte that is none becomes U+FFFD.
 * Failures of the stream are found with ferror(). Not thread-safe: the stream
 * is written without its lock.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 32

struct json {
	FILE *file; /* borrowed */
	unsigned int depth;
	bool begun[JSON_DEPTH]; /* there is a value already: a comma is due */
	bool lines[JSON_DEPTH]; /* an array with a line for each value */
};

/* Starts a document on a stream. */
void json_init(struct json *j, FILE *file);

void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
/* An array with each of its values on a line of its own. */
void json_array_begin_lines(struct json *j, const char *key);
void json_array_end(struct json *j);

void json_string(struct json *j, const char *key, const char *value);
void json_s64(struct json *j, const char *key, int64_t value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* The shortest text that reads back as the same double; null if not finite. */
void json_double(struct json *j, const char *key, double value);

/* Ends the document with a line break. */
void json_end(struct json *j);

#endif
