/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/otlp_write.h"

#include <string.h>

#include "base/protobuf.h"

/* ---- fields ---- */

static void tag_put(struct bytes *b, unsigned int number, unsigned int type)
{
	bytes_put_varint(b, number << 3 | type);
}

static void number_put(struct bytes *b, unsigned int number, uint64_t value)
{
	if (!value)
		return;
	tag_put(b, number, PROTOBUF_VARINT);
	bytes_put_varint(b, value);
}

static void fixed64_put(struct bytes *b, unsigned int number, uint64_t value)
{
	tag_put(b, number, PROTOBUF_FIXED64);
	bytes_put_u64(b, value);
}

static void data_put(struct bytes *b, unsigned int number, const void *data, size_t bytes)
{
	tag_put(b, number, PROTOBUF_BYTES);
	bytes_put_varint(b, bytes);
	if (bytes)
		bytes_put(b, data, bytes);
}

static void text_put(struct bytes *b, unsigned int number, const char *text)
{
	if (*text)
		data_put(b, number, text, strlen(text));
}

static void big_endian_put(unsigned char to[8], uint64_t value)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(value >> (56 - 8 * i));
}

static void span_id_put(struct bytes *b, unsigned int number, uint64_t id)
{
	unsigned char text[8];

	big_endian_put(text, id);
	data_put(b, number, text, sizeof(text));
}

static void trace_id_put(struct bytes *b, unsigned int number, struct trace_id id)
{
	unsigned char text[16];

	big_endian_put(text, id.high);
	big_endian_put(text + 8, id.low);
	data_put(b, number, text, sizeof(text));
}

/* ---- messages in messages ---- */

#define LENGTH_BYTES 4 /* of a message, as a varint that is filled up: less than 256 MB */

/* Begins a message, whose length is not known yet. Returns where its contents begin. */
static size_t message_begin(struct bytes *b, unsigned int number)
{
	tag_put(b, number, PROTOBUF_BYTES);
	bytes_put(b, "\x80\x80\x80\0", LENGTH_BYTES);
	return b->count;
}

static void message_end(struct bytes *b, size_t begin)
{
	size_t length = b->count - begin;

	if (b->failed)
		return;
	if (length >> (7 * LENGTH_BYTES)) {
		b->failed = true;
		return;
	}
	for (unsigned int i = 0; i < LENGTH_BYTES; i++)
		b->data[begin - LENGTH_BYTES + i] =
			(unsigned char)((length >> (7 * i) & 127) |
					(i + 1 < LENGTH_BYTES ? 128 : 0));
}

/* ---- values ---- */

static void attribute_put(struct bytes *b, unsigned int number, const struct attribute *a);

/* The contents of an AnyValue; nothing for VALUE_NONE. */
static void value_put(struct bytes *b, const struct attribute *a)
{
	size_t begin;
	uint64_t bits;

	switch (a->type) {
	case VALUE_STRING:
		data_put(b, 1, a->string, strlen(a->string));
		break;
	case VALUE_BOOLEAN:
		tag_put(b, 2, PROTOBUF_VARINT);
		bytes_put_varint(b, a->integer != 0);
		break;
	case VALUE_INTEGER:
		tag_put(b, 3, PROTOBUF_VARINT);
		bytes_put_varint(b, (uint64_t)a->integer);
		break;
	case VALUE_REAL:
		memcpy(&bits, &a->real, sizeof(bits));
		fixed64_put(b, 4, bits);
		break;
	case VALUE_BYTES:
		data_put(b, 7, a->string, a->count);
		break;
	case VALUE_ARRAY:
	case VALUE_MAP:
		begin = message_begin(b, a->type == VALUE_ARRAY ? 5 : 6);
		for (size_t i = 0; i < a->count; i++)
			attribute_put(b, 1, &a->items[i]);
		message_end(b, begin);
		break;
	case VALUE_NONE:
		break;
	}
}

/* A KeyValue, or without a key an AnyValue. */
static void attribute_put(struct bytes *b, unsigned int number, const struct attribute *a)
{
	size_t begin = message_begin(b, number), value;

	if (a->key) {
		text_put(b, 1, a->key);
		value = message_begin(b, 2);
		value_put(b, a);
		message_end(b, value);
	} else {
		value_put(b, a);
	}
	message_end(b, begin);
}

static void list_put(struct bytes *b, unsigned int number, const struct received_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		attribute_put(b, number, &list->data[i]);
}

/* ---- spans ---- */

static void event_put(struct bytes *b, const struct received_event *event)
{
	size_t begin = message_begin(b, 11);

	fixed64_put(b, 1, event->time_ns);
	text_put(b, 2, event->name);
	list_put(b, 3, &event->attributes);
	number_put(b, 4, event->attributes.dropped);
	message_end(b, begin);
}

static void link_put(struct bytes *b, const struct received_link *link)
{
	size_t begin = message_begin(b, 13);

	trace_id_put(b, 1, link->trace);
	span_id_put(b, 2, link->span_id);
	text_put(b, 3, link->trace_state);
	list_put(b, 4, &link->attributes);
	number_put(b, 5, link->attributes.dropped);
	message_end(b, begin);
}

static void status_put(struct bytes *b, const struct received_span *span)
{
	size_t begin;

	if (!span->status && !*span->status_text)
		return;
	begin = message_begin(b, 15);
	text_put(b, 2, span->status_text);
	number_put(b, 3, span->status);
	message_end(b, begin);
}

static void flags_put(struct bytes *b, uint32_t flags)
{
	if (!flags)
		return;
	tag_put(b, 16, PROTOBUF_FIXED32);
	bytes_put_u32(b, flags);
}

static void span_put(struct bytes *b, const struct received_span *span)
{
	size_t begin = message_begin(b, 2);

	trace_id_put(b, 1, span->trace);
	span_id_put(b, 2, span->span_id);
	text_put(b, 3, span->trace_state);
	if (span->parent_id)
		span_id_put(b, 4, span->parent_id);
	text_put(b, 5, span->name);
	number_put(b, 6, span->kind);
	fixed64_put(b, 7, span->begin_ns);
	fixed64_put(b, 8, span->end_ns);
	list_put(b, 9, &span->attributes);
	number_put(b, 10, span->attributes.dropped);
	for (size_t i = 0; i < span->events_count; i++)
		event_put(b, &span->events[i]);
	number_put(b, 12, span->events_dropped);
	for (size_t i = 0; i < span->links_count; i++)
		link_put(b, &span->links[i]);
	number_put(b, 14, span->links_dropped);
	status_put(b, span);
	flags_put(b, span->flags);
	message_end(b, begin);
}

static void scope_put(struct bytes *b, const struct received_scope *scope)
{
	size_t begin = message_begin(b, 1);

	text_put(b, 1, scope->name);
	text_put(b, 2, scope->version);
	list_put(b, 3, &scope->attributes);
	number_put(b, 4, scope->attributes.dropped);
	message_end(b, begin);
}

static void resource_put(struct bytes *b, const struct received_resource *resource)
{
	const struct attribute service = {
		.key = "service.name", .type = VALUE_STRING, .string = resource->service};
	bool told = strcmp(resource->service, SERVICE_UNKNOWN) == 0;
	size_t begin = message_begin(b, 1);

	for (size_t i = 0; i < resource->attributes.count; i++)
		told |= strcmp(resource->attributes.data[i].key, service.key) == 0;
	if (!told)
		attribute_put(b, 1, &service);
	list_put(b, 1, &resource->attributes);
	number_put(b, 2, resource->attributes.dropped);
	message_end(b, begin);
}

void otlp_write(struct bytes *to, const struct received_span *spans, size_t count)
{
	for (size_t i = 0; i < count;) {
		const struct received_resource *resource = spans[i].resource;
		size_t outer = message_begin(to, 1);

		resource_put(to, resource);
		while (i < count && spans[i].resource == resource) {
			const struct received_scope *scope = spans[i].scope;
			size_t inner = message_begin(to, 2);

			scope_put(to, scope);
			for (;
			     i < count && spans[i].resource == resource && spans[i].scope == scope;
			     i++)
				span_put(to, &spans[i]);
			message_end(to, inner);
		}
		message_end(to, outer);
	}
}
