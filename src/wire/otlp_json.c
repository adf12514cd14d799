/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of OTLP as tables: a key, the number of its field, how its value is read, and the
 * table of the message in it.
 */
#include "wire/otlp_json.h"

#include <errno.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/protobuf.h"
#include "wire/base64.h"
#include "wire/otlp.h"

/* objects and arrays around a value, and those that a value in a value takes */
#define JSON_DEPTH_MAX (16 + 4 * (OTLP_DEPTH + 1))

struct converting {
	struct json_reader reader;
	struct bytes *out;
};

struct key;

/* Reads the value of a key and appends its field. */
typedef void (*value_reader)(struct converting *c, const struct key *key);

struct key {
	const char *name;
	uint32_t number;
	value_reader read;
	const struct key *inner;  /* of a message; ends with a key without name */
	const char *const *names; /* of the numbers of an enum, from 0; ends with NULL */
	bool repeated;
};

static void tag_put(struct converting *c, const struct key *key, uint32_t type)
{
	bytes_put_varint(c->out, key->number << 3 | type);
}

/* Makes room for `bytes` at the end, for their writer to fill. NULL: no memory. */
static char *room_make(struct bytes *b, size_t bytes)
{
	static const char zeros[64];
	size_t begin = b->count;

	for (size_t left = bytes; left;) {
		size_t n = left < sizeof(zeros) ? left : sizeof(zeros);

		bytes_put(b, zeros, n);
		left -= n;
	}
	return b->failed ? NULL : (char *)b->data + begin;
}

/* What follows `begin` becomes a field of bytes: its length is put before it. */
static void length_put(struct bytes *b, size_t begin)
{
	size_t bytes = b->count - begin, head;
	unsigned char saved[10];

	bytes_put_varint(b, bytes);
	if (b->failed)
		return;
	head = b->count - begin - bytes;
	memcpy(saved, b->data + b->count - head, head);
	memmove(b->data + begin + head, b->data + begin, bytes);
	memcpy(b->data + begin, saved, head);
}

static void text_read(struct converting *c, const struct key *key)
{
	struct json_text text;
	size_t begin;
	char *to;

	json_string_read(&c->reader, &text);
	tag_put(c, key, PROTOBUF_BYTES);
	begin = c->out->count;
	to = room_make(c->out, text.bytes);
	if (!to)
		return;
	c->out->count = begin + json_text_decode(text, to);
	length_put(c->out, begin);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* An id of `size` bytes, or none; one of fewer digits gets zeros before it if `is_padded`. */
static void id_put(struct converting *c, const struct key *key, size_t size, bool is_padded)
{
	unsigned char id[16] = {0};
	struct json_text text;
	size_t at;

	json_string_read(&c->reader, &text);
	if (!text.bytes)
		return;
	at = is_padded && text.bytes == 16 ? 2 * size - 16 : 0;
	if (text.bytes != 2 * size - at) {
		json_fail(&c->reader, "an id has another number of hex digits");
		return;
	}
	for (size_t i = 0; i < text.bytes; i++, at++) {
		int digit = hex_digit(text.data[i]);

		if (digit < 0)
			json_fail(&c->reader, "an id has letters that are no hex digits");
		else
			id[at / 2] = (unsigned char)(id[at / 2] << 4 | digit);
	}
	tag_put(c, key, PROTOBUF_BYTES);
	bytes_put_varint(c->out, size);
	bytes_put(c->out, id, size);
}

static void trace_id_read(struct converting *c, const struct key *key)
{
	id_put(c, key, 16, true);
}

static void span_id_read(struct converting *c, const struct key *key)
{
	id_put(c, key, 8, false);
}

static void fixed64_read(struct converting *c, const struct key *key)
{
	uint64_t value = json_u64_read(&c->reader, UINT64_MAX);

	tag_put(c, key, PROTOBUF_FIXED64);
	bytes_put_u64(c->out, value);
}

static void fixed32_read(struct converting *c, const struct key *key)
{
	uint64_t value = json_u64_read(&c->reader, UINT32_MAX);

	tag_put(c, key, PROTOBUF_FIXED32);
	bytes_put_u32(c->out, (uint32_t)value);
}

static void count_read(struct converting *c, const struct key *key)
{
	uint64_t value = json_u64_read(&c->reader, UINT32_MAX);

	tag_put(c, key, PROTOBUF_VARINT);
	bytes_put_varint(c->out, value);
}

static void integer_read(struct converting *c, const struct key *key)
{
	struct json_text text;
	int64_t value = 0;

	json_scalar_read(&c->reader, &text);
	if (!json_text_s64(text, &value))
		json_fail(&c->reader, "a number is out of range, or not whole");
	tag_put(c, key, PROTOBUF_VARINT);
	bytes_put_varint(c->out, (uint64_t)value);
}

static void real_read(struct converting *c, const struct key *key)
{
	struct json_text text;
	double value = 0;
	uint64_t bits;

	json_scalar_read(&c->reader, &text);
	if (!json_text_double(text, &value))
		json_fail(&c->reader, "a number is malformed");
	memcpy(&bits, &value, sizeof(bits));
	tag_put(c, key, PROTOBUF_FIXED64);
	bytes_put_u64(c->out, bits);
}

static void boolean_read(struct converting *c, const struct key *key)
{
	bool value = json_boolean_read(&c->reader);

	tag_put(c, key, PROTOBUF_VARINT);
	bytes_put_u8(c->out, value);
}

/* A number, also one that has no name yet; or a name. */
static void enum_read(struct converting *c, const struct key *key)
{
	struct json_text text;
	uint64_t value = 0;

	if (json_peek(&c->reader) == JSON_STRING) {
		json_string_read(&c->reader, &text);
		while (key->names[value] && !json_text_is(text, key->names[value]))
			value++;
		if (!key->names[value])
			json_fail(&c->reader, "a kind or code has an unknown name");
	} else {
		value = json_u64_read(&c->reader, INT32_MAX);
	}
	tag_put(c, key, PROTOBUF_VARINT);
	bytes_put_varint(c->out, value);
}

static void bytes_read(struct converting *c, const struct key *key)
{
	struct json_text text;
	size_t begin;

	json_string_read(&c->reader, &text);
	tag_put(c, key, PROTOBUF_BYTES);
	begin = c->out->count;
	if (!base64_put(c->out, text.data, text.bytes))
		json_fail(&c->reader, "bytes are no base64");
	length_put(c->out, begin);
}

static const struct key *key_find(const struct key *keys, struct json_text name)
{
	while (keys->name && !json_text_is(name, keys->name))
		keys++;
	return keys->name ? keys : NULL;
}

static void repeated_read(struct converting *c, const struct key *key)
{
	json_array_enter(&c->reader);
	while (json_item_next(&c->reader))
		key->read(c, key);
}

/* The fields of an object. A null is as if the key were not there. */
static void fields_read(struct converting *c, const struct key *keys)
{
	struct json_text name;

	json_object_enter(&c->reader);
	while (json_key_next(&c->reader, &name)) {
		const struct key *key = key_find(keys, name);

		if (!key)
			json_skip(&c->reader);
		else if (json_null_read(&c->reader))
			continue;
		else if (key->repeated)
			repeated_read(c, key);
		else
			key->read(c, key);
	}
}

static void message_read(struct converting *c, const struct key *key)
{
	size_t begin;

	tag_put(c, key, PROTOBUF_BYTES);
	begin = c->out->count;
	fields_read(c, key->inner);
	length_put(c->out, begin);
}

#define VALUE(key, field, reader)                                                                  \
	{                                                                                          \
		.name = key, .number = field, .read = reader                                       \
	}
#define ENUM(key, field, texts)                                                                    \
	{                                                                                          \
		.name = key, .number = field, .read = enum_read, .names = texts                    \
	}
#define ONE(key, field, message)                                                                   \
	{                                                                                          \
		.name = key, .number = field, .read = message_read, .inner = message               \
	}
#define MANY(key, field, message)                                                                  \
	{                                                                                          \
		.name = key, .number = field, .read = message_read, .inner = message,              \
		.repeated = true                                                                   \
	}

static const char *const kinds[] = {"SPAN_KIND_UNSPECIFIED",
				    "SPAN_KIND_INTERNAL",
				    "SPAN_KIND_SERVER",
				    "SPAN_KIND_CLIENT",
				    "SPAN_KIND_PRODUCER",
				    "SPAN_KIND_CONSUMER",
				    NULL};
static const char *const codes[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR",
				    NULL};

static const struct key any_value[]; /* values nest */

static const struct key key_value[] = {VALUE("key", 1, text_read), ONE("value", 2, any_value), {0}};
static const struct key array[] = {MANY("values", 1, any_value), {0}};
static const struct key map[] = {MANY("values", 1, key_value), {0}};

static const struct key any_value[] = {
	VALUE("stringValue", 1, text_read), VALUE("boolValue", 2, boolean_read),
	VALUE("intValue", 3, integer_read), VALUE("doubleValue", 4, real_read),
	ONE("arrayValue", 5, array),	    ONE("kvlistValue", 6, map),
	VALUE("bytesValue", 7, bytes_read), {0}};

static const struct key status[] = {VALUE("message", 2, text_read), ENUM("code", 3, codes), {0}};

static const struct key event[] = {VALUE("timeUnixNano", 1, fixed64_read),
				   VALUE("name", 2, text_read),
				   MANY("attributes", 3, key_value),
				   VALUE("droppedAttributesCount", 4, count_read),
				   {0}};

static const struct key link_keys[] = {VALUE("traceId", 1, trace_id_read),
				       VALUE("spanId", 2, span_id_read),
				       VALUE("traceState", 3, text_read),
				       MANY("attributes", 4, key_value),
				       VALUE("droppedAttributesCount", 5, count_read),
				       VALUE("flags", 6, fixed32_read),
				       {0}};

static const struct key span[] = {VALUE("traceId", 1, trace_id_read),
				  VALUE("spanId", 2, span_id_read),
				  VALUE("traceState", 3, text_read),
				  VALUE("parentSpanId", 4, span_id_read),
				  VALUE("name", 5, text_read),
				  ENUM("kind", 6, kinds),
				  VALUE("startTimeUnixNano", 7, fixed64_read),
				  VALUE("endTimeUnixNano", 8, fixed64_read),
				  MANY("attributes", 9, key_value),
				  VALUE("droppedAttributesCount", 10, count_read),
				  MANY("events", 11, event),
				  VALUE("droppedEventsCount", 12, count_read),
				  MANY("links", 13, link_keys),
				  VALUE("droppedLinksCount", 14, count_read),
				  ONE("status", 15, status),
				  VALUE("flags", 16, fixed32_read),
				  {0}};

static const struct key scope[] = {VALUE("name", 1, text_read),
				   VALUE("version", 2, text_read),
				   MANY("attributes", 3, key_value),
				   VALUE("droppedAttributesCount", 4, count_read),
				   {0}};

static const struct key resource[] = {
	MANY("attributes", 1, key_value), VALUE("droppedAttributesCount", 2, count_read), {0}};

static const struct key scope_spans[] = {
	ONE("scope", 1, scope), MANY("spans", 2, span), VALUE("schemaUrl", 3, text_read), {0}};

static const struct key resource_spans[] = {ONE("resource", 1, resource),
					    MANY("scopeSpans", 2, scope_spans),
					    VALUE("schemaUrl", 3, text_read),
					    {0}};

static const struct key request[] = {MANY("resourceSpans", 1, resource_spans), {0}};

int otlp_from_json(const void *data, size_t bytes, struct bytes *out, struct error *e)
{
	struct converting c = {.out = out};
	size_t before = out->count;
	int err;

	json_reader_init(&c.reader, data, bytes, JSON_DEPTH_MAX);
	fields_read(&c, request);
	err = json_finish(&c.reader);
	if (!err && !out->failed)
		return 0;
	out->count = before;
	if (!err)
		return error_set(e, ENOMEM, "cannot read an OTLP request");
	return error_say(e, EPROTO, "malformed OTLP request: at byte %zu: %s",
			 (size_t)(c.reader.at - c.reader.begin), c.reader.wrong);
}
