/* SPDX-License-Identifier: Apache-2.0 */
#include "span/attributes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes an object with one key that begins with NUL, or the bare text for readers. */
static void marked_write(struct json *j, const char *key, const char *mark, const char *text)
{
	if (!mark) {
		json_string(j, key, text);
		return;
	}
	json_object_begin(j, key);
	json_marked(j, mark, text);
	json_object_end(j);
}

static void bytes_write(struct json *j, const struct attribute *a, bool exact)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = (const unsigned char *)a->string;
	char *text = malloc((a->count + 2) / 3 * 4 + 1), *at = text;

	if (!text) {
		j->err = j->err ? j->err : -ENOMEM;
		return;
	}
	for (size_t i = 0; i < a->count; i += 3) {
		uint32_t word = (uint32_t)from[i] << 16;

		word |= i + 1 < a->count ? (uint32_t)from[i + 1] << 8 : 0;
		word |= i + 2 < a->count ? from[i + 2] : 0;
		*at++ = digits[word >> 18];
		*at++ = digits[word >> 12 & 63];
		*at++ = i + 1 < a->count ? digits[word >> 6 & 63] : '=';
		*at++ = i + 2 < a->count ? digits[word & 63] : '=';
	}
	*at = '\0';
	marked_write(j, a->key, exact ? "bytes" : NULL, text);
	free(text);
}

static void real_write(struct json *j, const struct attribute *a, bool exact)
{
	if (isfinite(a->real))
		json_double(j, a->key, a->real);
	else
		marked_write(j, a->key, exact ? "real" : NULL,
			     isnan(a->real)  ? "nan"
			     : a->real > 0.0 ? "inf"
					     : "-inf");
}

static void value_write(struct json *j, const struct attribute *a, bool exact)
{
	switch (a->type) {
	case VALUE_STRING:
		json_string(j, a->key, a->string);
		break;
	case VALUE_INTEGER:
		json_s64(j, a->key, a->integer);
		break;
	case VALUE_REAL:
		real_write(j, a, exact);
		break;
	case VALUE_BOOLEAN:
		json_bool(j, a->key, a->integer != 0);
		break;
	case VALUE_BYTES:
		bytes_write(j, a, exact);
		break;
	case VALUE_ARRAY:
		json_array_begin(j, a->key);
		for (size_t i = 0; i < a->count; i++)
			value_write(j, &a->items[i], exact);
		json_array_end(j);
		break;
	case VALUE_MAP:
		json_object_begin(j, a->key);
		for (size_t i = 0; i < a->count; i++)
			value_write(j, &a->items[i], exact);
		json_object_end(j);
		break;
	case VALUE_NONE:
		json_null(j, a->key);
		break;
	}
}

void attribute_write_json(struct json *j, const struct attribute *a)
{
	value_write(j, a, false);
}

void attributes_write_json(struct json *j, const char *key, const struct attribute *attributes,
			   size_t count)
{
	json_object_begin(j, key);
	for (size_t i = 0; i < count; i++)
		value_write(j, &attributes[i], false);
	json_object_end(j);
}

void attributes_write_exact(struct json *j, const char *key, const struct attribute *attributes,
			    size_t count)
{
	json_object_begin(j, key);
	for (size_t i = 0; i < count; i++)
		value_write(j, &attributes[i], true);
	json_object_end(j);
}

const struct attribute *attributes_find(const struct attribute *attributes, size_t count,
					const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(attributes[i].key, key) == 0)
			return &attributes[i];
	}
	return NULL;
}
