/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON: strings decode to valid UTF-8 within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text_check(struct json_text text)
{
	char *to = malloc(text.bytes ? text.bytes : 1);
	size_t n = json_text_decode(text, to), length;

	if (n > text.bytes || memchr(to, 0, n))
		abort();
	for (size_t at = 0; at < n; at += length) {
		length = utf8_length(to + at, n - at);
		if (!length)
			abort();
	}
	free(to);
}

static void value_read(struct json_reader *r)
{
	struct json_text text;
	uint64_t number;
	double real;

	switch (json_peek(r)) {
	case JSON_OBJECT:
		json_object_enter(r);
		while (json_key_next(r, &text)) {
			text_check(text);
			value_read(r);
		}
		break;
	case JSON_ARRAY:
		json_array_enter(r);
		while (json_item_next(r))
			value_read(r);
		break;
	case JSON_STRING:
		json_string_read(r, &text);
		text_check(text);
		break;
	case JSON_NUMBER:
		json_number_read(r, &text);
		json_text_u64(text, &number);
		if (!r->wrong && text.bytes < 512 && !json_text_double(text, &real))
			abort();
		break;
	default:
		json_skip(r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_reader pulled, skipped;

	json_reader_init(&pulled, data, size, 64);
	value_read(&pulled);
	json_reader_init(&skipped, data, size, 64);
	json_skip(&skipped);
	if (json_finish(&pulled) != json_finish(&skipped) || pulled.wrong != skipped.wrong)
		abort();
	return 0;
}
