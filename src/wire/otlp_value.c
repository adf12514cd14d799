/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/otlp_value.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/otlp.h"

#define EACH_BYTE UINT64_C(0x0101010101010101)

static int value_decode(struct pool *pool, struct protobuf_bytes message, struct attribute *a);

size_t fields_count(struct protobuf_bytes message, uint32_t number)
{
	struct protobuf_field field;
	size_t count = 0;

	while (protobuf_next(&message, &field) > 0)
		count += field.number == number;
	return count;
}

/* Bytes at the begin that are ASCII, in words; all but 0. */
static size_t ascii_run(struct protobuf_bytes text)
{
	size_t i = 0;

	for (; i + sizeof(uint64_t) <= text.len; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, text.data + i, sizeof(word));
		if ((word | (word - EACH_BYTE)) & EACH_BYTE << 7)
			break;
	}
	return i;
}

const char *pool_text(struct pool *pool, struct protobuf_bytes text)
{
	size_t replaced = 0;
	char *copy;

	if (!text.len)
		return "";
	for (size_t i = ascii_run(text); i < text.len;) {
		size_t n = text.data[i] ? utf8_length(text.data + i, text.len - i) : 0;

		replaced += !n;
		i += n ? n : 1;
	}
	copy = pool_alloc(pool, text.len + 2 * replaced + 1, 1);
	if (!copy)
		return NULL;
	if (replaced)
		utf8_clean(copy, text.data, text.len);
	else
		memcpy(copy, text.data, text.len);
	return copy;
}

static bool is_text(const char *text, struct protobuf_bytes bytes)
{
	return strlen(text) == bytes.len && memcmp(text, bytes.data, bytes.len) == 0;
}

/* The key is `like` if it is the same. */
static int key_value_decode(struct pool *pool, struct protobuf_bytes message, const char *like,
			    struct attribute *a)
{
	struct protobuf_field field;
	int err = 0;

	a->key = "";
	a->type = VALUE_NONE;
	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 1) {
			a->key = is_text(like, field.bytes) ? like : pool_text(pool, field.bytes);
			err = a->key ? 0 : -ENOMEM;
		} else if (field.number == 2) {
			err = value_decode(pool, field.bytes, a);
		}
	}
	return err;
}

/* ArrayValue and KeyValueList: a message with one repeated field. */
static int items_decode(struct pool *pool, struct protobuf_bytes message, struct attribute *a)
{
	size_t count = fields_count(message, 1), i = 0;
	struct attribute *items = pool_alloc(pool, count, sizeof(*items));
	struct protobuf_field field;
	int err = items ? 0 : -ENOMEM;

	while (!err && i < count && protobuf_next(&message, &field) > 0) {
		if (field.number != 1)
			continue;
		items[i].type = VALUE_NONE;
		err = a->type == VALUE_MAP ? key_value_decode(pool, field.bytes, "", &items[i])
					   : value_decode(pool, field.bytes, &items[i]);
		i++;
	}
	a->items = items;
	a->count = count;
	return err;
}

static int bytes_decode(struct pool *pool, struct protobuf_bytes from, struct attribute *a)
{
	char *bytes = pool_alloc(pool, from.len + 1, 1);

	if (!bytes)
		return -ENOMEM;
	if (from.len)
		memcpy(bytes, from.data, from.len);
	a->string = bytes;
	a->count = from.len;
	return 0;
}

static int field_decode(struct pool *pool, const struct protobuf_field *field, struct attribute *a)
{
	static const enum value_type types[] = {
		[1] = VALUE_STRING, [2] = VALUE_BOOLEAN, [3] = VALUE_INTEGER, [4] = VALUE_REAL,
		[5] = VALUE_ARRAY,  [6] = VALUE_MAP,	 [7] = VALUE_BYTES};

	if (field->number < 1 || field->number > 7)
		return 0;
	a->type = types[field->number];
	switch (a->type) {
	case VALUE_STRING:
		a->string = pool_text(pool, field->bytes);
		return a->string ? 0 : -ENOMEM;
	case VALUE_BOOLEAN:
		a->integer = field->value != 0;
		return 0;
	case VALUE_INTEGER:
		a->integer = (int64_t)field->value;
		return 0;
	case VALUE_REAL:
		memcpy(&a->real, &field->value, sizeof(a->real));
		return 0;
	case VALUE_BYTES:
		return bytes_decode(pool, field->bytes, a);
	default:
		return items_decode(pool, field->bytes, a);
	}
}

static int value_decode(struct pool *pool, struct protobuf_bytes message, struct attribute *a)
{
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field) > 0)
		err = field_decode(pool, &field, a);
	return err;
}

int attributes_decode(struct pool *pool, struct protobuf_bytes message, uint32_t number,
		      struct received_list *list)
{
	const struct attribute_fields fields = {message, number, fields_count(message, number)};

	return attribute_fields_decode(pool, &fields, NULL, list);
}

int attribute_fields_decode(struct pool *pool, const struct attribute_fields *fields,
			    const struct received_list *like, struct received_list *list)
{
	struct protobuf_bytes message = fields->message;
	size_t count = fields->count, i = 0;
	size_t most = otlp_attributes_most(), kept = count < most ? count : most;
	struct attribute *items = pool_alloc(pool, kept, sizeof(*items));
	struct protobuf_field field;
	int err = items ? 0 : -ENOMEM;

	while (!err && i < kept && protobuf_next(&message, &field) > 0) {
		const char *key = like && i < like->count ? like->data[i].key : "";

		if (field.number == fields->number)
			err = key_value_decode(pool, field.bytes, key, &items[i++]);
	}
	list->data = items;
	list->count = kept;
	list->dropped += (uint32_t)(count - kept);
	return err;
}
