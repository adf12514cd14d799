/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON to a sink in one pass, without allocating memory.
 *
 * Inside an object each value has a key; inside an array and at the top the key
 * is NULL. The text is always valid UTF-8: an invalid byte becomes U+FFFD. Not
 * thread-safe.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 160 /* OTLP has four levels for each level of a value */
#define JSON_BUFFER_BYTES 4096

/* Where the text goes: a file, a buffer, a connection. */
struct json_sink {
	/* Takes the next bytes of the text: 0 or a negative errno. */
	int (*write)(void *arg, const char *data, size_t bytes);
	void *arg;
};

struct json {
	struct json_sink sink;
	int err; /* the first error of the sink, which is not called again after it */
	unsigned int depth;
	bool begun[JSON_DEPTH]; /* it has a value already: the next one needs a comma */
	bool lines[JSON_DEPTH]; /* an array with each value on its own line */
	size_t buffered;
	char buffer[JSON_BUFFER_BYTES]; /* text that the sink does not have yet */
};

/* Starts a document. */
void json_init(struct json *j, const struct json_sink *sink);

void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
/* Begins an array with each value on its own line. */
void json_array_begin_lines(struct json *j, const char *key);
void json_array_end(struct json *j);

void json_string(struct json *j, const char *key, const char *value);
void json_s64(struct json *j, const char *key, int64_t value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_null(struct json *j, const char *key);
/* Writes a string whose key is NUL and then `mark`: a key that no text has. */
void json_marked(struct json *j, const char *mark, const char *value);
void json_bool(struct json *j, const char *key, bool value);
/* Writes the shortest text that reads back as the same double; null if it is not finite. */
void json_double(struct json *j, const char *key, double value);

/*
 * Ends the document with a line break and passes the rest of the text to the sink. Another document
 * may follow. Returns 0, or the first error of the sink.
 */
int json_end(struct json *j);

#endif
