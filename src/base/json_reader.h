/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON in one pass, in place, without allocating memory. The caller asks for what it expects,
 * and passes over what it does not know:
 *
 *   struct json_text key;
 *   json_object_enter(&r);
 *   while (json_key_next(&r, &key)) {
 *           if (json_text_is(key, "name"))
 *                   json_string_read(&r, &name);
 *           else
 *                   json_skip(&r);
 *   }
 *   err = json_finish(&r);
 *
 * After the first failure all functions do nothing, and loops end. The input must be RFC 8259's
 * JSON: valid UTF-8, numbers and escapes by its grammar. Keys may repeat. Not thread-safe.
 */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
	JSON_FAILED, /* or the end of the input */
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_BOOLEAN,
	JSON_NULL,
};

/* A string without its quotes, or a number, as it stands in the input (borrowed). */
struct json_text {
	const char *data;
	size_t bytes;
	bool is_escaped; /* it has escapes: json_text_decode() */
};

struct json_reader {
	const char *begin, *at, *end;
	const char *wrong; /* static text; NULL: nothing failed */
	unsigned int depth, depth_max;
	bool first; /* nothing was read of the innermost object or array */
};

void json_reader_init(struct json_reader *r, const void *data, size_t bytes,
		      unsigned int depth_max);

/* The type of the value that follows. */
enum json_type json_peek(struct json_reader *r);

void json_object_enter(struct json_reader *r);
/* The next key of the object; false at its end, which is passed, and after a failure. */
bool json_key_next(struct json_reader *r, struct json_text *key);

void json_array_enter(struct json_reader *r);
/* Whether the array has another value, which must be read; false as above. */
bool json_item_next(struct json_reader *r);

void json_string_read(struct json_reader *r, struct json_text *text);
/* The text of a number: for strtod(), json_text_u64(), json_text_s64(). */
void json_number_read(struct json_reader *r, struct json_text *text);
/* A number, or a string that the caller must check. */
void json_scalar_read(struct json_reader *r, struct json_text *text);
bool json_boolean_read(struct json_reader *r);
/* Passes over a null, if it follows. */
bool json_null_read(struct json_reader *r);
void json_skip(struct json_reader *r);

/* Fails with a text of the caller's, which is static. */
void json_fail(struct json_reader *r, const char *wrong);

/* Nothing may follow but space. 0, or -EPROTO. */
int json_finish(struct json_reader *r);

/* Whether a key is `name`, which needs no escape. */
bool json_text_is(struct json_text text, const char *name);

/*
 * Decodes a string into `to`, which holds text.bytes. Returns its length. NUL and halves of
 * surrogate pairs become U+FFFD. Adds no NUL.
 */
size_t json_text_decode(struct json_text text, char *to);

/* A whole number up to `most`, or a string that says one; 0 after a mistake, which the reader
 * notes. */
uint64_t json_u64_read(struct json_reader *r, uint64_t most);

/* A whole number, also as 1e3 or 5.0; false if it is none or out of range. */
bool json_text_u64(struct json_text text, uint64_t *value);
bool json_text_s64(struct json_text text, int64_t *value);
/* A number; also, as protobuf writes them, NaN, Infinity and -Infinity. */
bool json_text_double(struct json_text text, double *value);

#endif
