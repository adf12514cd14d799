/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "wire/otlp.h"
#include "wire/otlp_value.h"

struct decoding {
	struct pool *pool;
	struct received_batch *out;
	const struct received_resource *resource;
	const struct received_scope *scope;
	struct received_list last; /* attributes of the span before: most have the same keys */
};

/* How many fields of a span are of each kind that repeats. */
struct repeated {
	size_t attributes, events, links;
};

static uint64_t big_endian(const char *from)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | (unsigned char)from[i];
	return value;
}

static struct trace_id trace_id_decode(struct protobuf_bytes id)
{
	if (id.len != 16)
		return (struct trace_id){0};
	return (struct trace_id){big_endian(id.data), big_endian(id.data + 8)};
}

static uint64_t span_id_decode(struct protobuf_bytes id)
{
	return id.len == 8 ? big_endian(id.data) : 0;
}

static int text_decode(struct decoding *d, const struct protobuf_field *field, const char **text)
{
	*text = pool_text(d->pool, field->bytes);
	return *text ? 0 : -ENOMEM;
}

static int event_decode(struct decoding *d, struct protobuf_bytes message,
			struct received_event *event)
{
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	event->name = "";
	while (!err && protobuf_next(&rest, &field) > 0) {
		if (field.number == 1)
			event->time_ns = field.value;
		else if (field.number == 2)
			err = text_decode(d, &field, &event->name);
		else if (field.number == 4)
			event->attributes.dropped = (uint32_t)field.value;
	}
	return err ? err : attributes_decode(d->pool, message, 3, &event->attributes);
}

static int link_decode(struct decoding *d, struct protobuf_bytes message,
		       struct received_link *link)
{
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	link->trace_state = "";
	while (!err && protobuf_next(&rest, &field) > 0) {
		if (field.number == 1)
			link->trace = trace_id_decode(field.bytes);
		else if (field.number == 2)
			link->span_id = span_id_decode(field.bytes);
		else if (field.number == 3)
			err = text_decode(d, &field, &link->trace_state);
		else if (field.number == 5)
			link->attributes.dropped = (uint32_t)field.value;
	}
	return err ? err : attributes_decode(d->pool, message, 4, &link->attributes);
}

static int events_decode(struct decoding *d, struct protobuf_bytes message, size_t count,
			 struct received_span *span)
{
	size_t i = 0;
	struct received_event *events = pool_alloc(d->pool, count, sizeof(*events));
	struct protobuf_field field;
	int err = events ? 0 : -ENOMEM;

	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 11)
			err = event_decode(d, field.bytes, &events[i++]);
	}
	span->events = events;
	span->events_count = count;
	return err;
}

static int links_decode(struct decoding *d, struct protobuf_bytes message, size_t count,
			struct received_span *span)
{
	size_t i = 0;
	struct received_link *links = pool_alloc(d->pool, count, sizeof(*links));
	struct protobuf_field field;
	int err = links ? 0 : -ENOMEM;

	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 13)
			err = link_decode(d, field.bytes, &links[i++]);
	}
	span->links = links;
	span->links_count = count;
	return err;
}

static int status_decode(struct decoding *d, struct protobuf_bytes message,
			 struct received_span *span)
{
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 2)
			err = text_decode(d, &field, &span->status_text);
		else if (field.number == 3)
			span->status = field.value <= RECEIVED_ERROR ? (uint8_t)field.value
								     : RECEIVED_UNSET;
	}
	return err;
}

/* A field of the span itself. */
static int span_field_decode(struct decoding *d, const struct protobuf_field *field,
			     struct received_span *span)
{
	switch (field->number) {
	case 1:
		span->trace = trace_id_decode(field->bytes);
		break;
	case 2:
		span->span_id = span_id_decode(field->bytes);
		break;
	case 3:
		return text_decode(d, field, &span->trace_state);
	case 4:
		span->parent_id = span_id_decode(field->bytes);
		break;
	case 5:
		return text_decode(d, field, &span->name);
	case 6:
		span->kind = field->value <= RECEIVED_CONSUMER ? (uint8_t)field->value
							       : RECEIVED_UNSPECIFIED;
		break;
	case 7:
		span->begin_ns = field->value;
		break;
	case 8:
		span->end_ns = field->value;
		break;
	case 10:
		span->attributes.dropped = (uint32_t)field->value;
		break;
	case 12:
		span->events_dropped = (uint32_t)field->value;
		break;
	case 14:
		span->links_dropped = (uint32_t)field->value;
		break;
	case 15:
		return status_decode(d, field->bytes, span);
	case 16:
		span->flags = (uint32_t)field->value;
		break;
	}
	return 0;
}

static int repeated_decode(struct decoding *d, struct protobuf_bytes message,
			   const struct repeated *repeated, struct received_span *span)
{
	const struct attribute_fields fields = {message, 9, repeated->attributes};
	int err = attribute_fields_decode(d->pool, &fields, &d->last, &span->attributes);

	if (!err)
		d->last = span->attributes;
	if (!err && repeated->events)
		err = events_decode(d, message, repeated->events, span);
	if (!err && repeated->links)
		err = links_decode(d, message, repeated->links, span);
	return err;
}

static int span_decode(struct decoding *d, struct protobuf_bytes message)
{
	struct received_span span = {.name = "",
				     .trace_state = "",
				     .status_text = "",
				     .resource = d->resource,
				     .scope = d->scope};
	struct protobuf_bytes rest = message;
	struct repeated repeated = {0};
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&rest, &field) > 0) {
		repeated.attributes += field.number == 9;
		repeated.events += field.number == 11;
		repeated.links += field.number == 13;
		err = span_field_decode(d, &field, &span);
	}
	if (err || !(span.trace.high | span.trace.low) || !span.span_id)
		return err; /* without ids it was rejected */
	err = repeated_decode(d, message, &repeated, &span);
	return err ? err : vec_push(d->out, span);
}

static int scope_decode(struct decoding *d, struct protobuf_bytes message,
			struct received_scope *scope)
{
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&rest, &field) > 0) {
		if (field.number == 1)
			err = text_decode(d, &field, &scope->name);
		else if (field.number == 2)
			err = text_decode(d, &field, &scope->version);
		else if (field.number == 4)
			scope->attributes.dropped = (uint32_t)field.value;
	}
	return err ? err : attributes_decode(d->pool, message, 3, &scope->attributes);
}

/* The scope may stand behind its spans, so it is decoded first. */
static int scope_spans_decode(struct decoding *d, struct protobuf_bytes message)
{
	struct received_scope *scope = pool_alloc(d->pool, 1, sizeof(*scope));
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	if (!scope)
		return -ENOMEM;
	*scope = (struct received_scope){.name = "", .version = ""};
	while (!err && protobuf_next(&rest, &field) > 0) {
		if (field.number == 1)
			err = scope_decode(d, field.bytes, scope);
	}
	d->scope = scope;
	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 2)
			err = span_decode(d, field.bytes);
	}
	return err;
}

static int resource_decode(struct decoding *d, struct protobuf_bytes message,
			   struct received_resource *resource)
{
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err;

	while (protobuf_next(&rest, &field) > 0) {
		if (field.number == 2)
			resource->attributes.dropped = (uint32_t)field.value;
	}
	err = attributes_decode(d->pool, message, 1, &resource->attributes);
	for (size_t i = 0; !err && i < resource->attributes.count; i++) {
		const struct attribute *a = &resource->attributes.data[i];

		if (a->type == VALUE_STRING && *a->string && strcmp(a->key, "service.name") == 0 &&
		    strlen(a->string) <= SERVICE_BYTES_MAX)
			resource->service = a->string;
	}
	return err;
}

static int resource_spans_decode(struct decoding *d, struct protobuf_bytes message)
{
	struct received_resource *resource = pool_alloc(d->pool, 1, sizeof(*resource));
	struct protobuf_bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	if (!resource)
		return -ENOMEM;
	resource->service = SERVICE_UNKNOWN;
	while (!err && protobuf_next(&rest, &field) > 0) {
		if (field.number == 1)
			err = resource_decode(d, field.bytes, resource);
	}
	d->resource = resource;
	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 2)
			err = scope_spans_decode(d, field.bytes);
	}
	return err;
}

int otlp_decode(const void *data, size_t bytes, struct pool *pool, struct received_batch *out,
		struct error *e)
{
	struct protobuf_bytes message = {data, bytes};
	struct decoding d = {.pool = pool, .out = out};
	size_t before = out->count;
	struct protobuf_field field;
	int err = otlp_walk_taken(data, bytes, e);

	if (err)
		return err;
	while (!err && protobuf_next(&message, &field) > 0) {
		if (field.number == 1)
			err = resource_spans_decode(&d, field.bytes);
	}
	if (err) {
		out->count = before;
		return error_set(e, err, "cannot decode an OTLP request");
	}
	return 0;
}
