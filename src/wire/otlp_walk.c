/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of OTLP as tables: a field is a number of the table, its type, and the table of the
 * message in it. Fields that no table has are passed over.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/protobuf.h"
#include "wire/otlp.h"
#include "wire/otlp_value.h"

enum field_use {
	USE_NONE,
	USE_TRACE_ID, /* 16 bytes or none; a span needs one that is not zero */
	USE_SPAN_ID,  /* 8 bytes or none; likewise */
	USE_OTHER_TRACE_ID,
	USE_OTHER_ID,
	USE_ITEM, /* a value that is counted */
};

struct message;

struct field {
	uint8_t type;
	uint8_t use;
	bool known;
	bool is_deeper; /* the message in it is a value in a value */
	const struct message *inner;
};

struct message {
	const struct field *fields;
	uint32_t count;
	bool is_span;
};

#define VARINT                                                                                     \
	{                                                                                          \
		PROTOBUF_VARINT, USE_NONE, true, false, NULL                                       \
	}
#define FIXED64                                                                                    \
	{                                                                                          \
		PROTOBUF_FIXED64, USE_NONE, true, false, NULL                                      \
	}
#define FIXED32                                                                                    \
	{                                                                                          \
		PROTOBUF_FIXED32, USE_NONE, true, false, NULL                                      \
	}
#define TEXT                                                                                       \
	{                                                                                          \
		PROTOBUF_BYTES, USE_NONE, true, false, NULL                                        \
	}
#define ID(use)                                                                                    \
	{                                                                                          \
		PROTOBUF_BYTES, use, true, false, NULL                                             \
	}
#define ONE(message)                                                                               \
	{                                                                                          \
		PROTOBUF_BYTES, USE_NONE, true, false, &(message)                                  \
	}
#define ITEM(message)                                                                              \
	{                                                                                          \
		PROTOBUF_BYTES, USE_ITEM, true, false, &(message)                                  \
	}
#define DEEPER(message)                                                                            \
	{                                                                                          \
		PROTOBUF_BYTES, USE_NONE, true, true, &(message)                                   \
	}
#define MESSAGE(name, span)                                                                        \
	static const struct message name = {name##_fields,                                         \
					    sizeof(name##_fields) / sizeof(struct field), span}

static const struct message any_value; /* values nest */

static const struct field key_value_fields[] = {[1] = TEXT, [2] = ONE(any_value)};
MESSAGE(key_value, false);

static const struct field array_fields[] = {[1] = ITEM(any_value)};
MESSAGE(array, false);

static const struct field map_fields[] = {[1] = ITEM(key_value)};
MESSAGE(map, false);

static const struct field any_value_fields[] = {
	[1] = TEXT,	     [2] = VARINT,	[3] = VARINT, [4] = FIXED64,
	[5] = DEEPER(array), [6] = DEEPER(map), [7] = TEXT};
MESSAGE(any_value, false);

static const struct field status_fields[] = {[2] = TEXT, [3] = VARINT};
MESSAGE(status, false);

static const struct field event_fields[] = {
	[1] = FIXED64, [2] = TEXT, [3] = ITEM(key_value), [4] = VARINT};
MESSAGE(event, false);

static const struct field link_message_fields[] = {
	[1] = ID(USE_OTHER_TRACE_ID), [2] = ID(USE_OTHER_ID), [3] = TEXT,
	[4] = ITEM(key_value),	      [5] = VARINT,	      [6] = FIXED32};
MESSAGE(link_message, false);

static const struct field span_fields[] = {[1] = ID(USE_TRACE_ID),
					   [2] = ID(USE_SPAN_ID),
					   [3] = TEXT,
					   [4] = ID(USE_OTHER_ID),
					   [5] = TEXT,
					   [6] = VARINT,
					   [7] = FIXED64,
					   [8] = FIXED64,
					   [9] = ITEM(key_value),
					   [10] = VARINT,
					   [11] = ITEM(event),
					   [12] = VARINT,
					   [13] = ITEM(link_message),
					   [14] = VARINT,
					   [15] = ONE(status),
					   [16] = FIXED32};
MESSAGE(span, true);

static const struct field scope_fields[] = {
	[1] = TEXT, [2] = TEXT, [3] = ITEM(key_value), [4] = VARINT};
MESSAGE(scope, false);

static const struct field resource_fields[] = {[1] = ITEM(key_value), [2] = VARINT};
MESSAGE(resource, false);

static const struct field scope_spans_fields[] = {[1] = ONE(scope), [2] = ONE(span), [3] = TEXT};
MESSAGE(scope_spans, false);

static const struct field resource_spans_fields[] = {
	[1] = ONE(resource), [2] = ONE(scope_spans), [3] = TEXT};
MESSAGE(resource_spans, false);

static const struct field request_fields[] = {[1] = ONE(resource_spans)};
MESSAGE(request, false);

static struct otlp_limits set = {OTLP_DEPTH, OTLP_ATTRIBUTES};

void otlp_limits_set(const struct otlp_limits *limits)
{
	if (limits->depth)
		set.depth = limits->depth < OTLP_DEPTH ? limits->depth : OTLP_DEPTH;
	if (limits->attributes)
		set.attributes = limits->attributes;
}

size_t otlp_attributes_most(void)
{
	return set.attributes;
}

struct walking {
	unsigned int depth_most;
	struct otlp_walk *out;
	struct error *e;
	uint64_t values;
	bool has_trace_id, has_span_id; /* of the span at hand */
};

static bool has_digit(struct protobuf_bytes id)
{
	for (size_t i = 0; i < id.len; i++) {
		if (id.data[i])
			return true;
	}
	return false;
}

static int id_check(struct walking *w, const struct field *known, struct protobuf_bytes id)
{
	bool is_trace = known->use == USE_TRACE_ID || known->use == USE_OTHER_TRACE_ID;
	size_t bytes = is_trace ? 16 : 8;

	if (id.len && id.len != bytes)
		return error_say(w->e, EPROTO, "an id of %zu bytes, where %zu belong", id.len,
				 bytes);
	if (known->use == USE_TRACE_ID)
		w->has_trace_id = has_digit(id);
	else if (known->use == USE_SPAN_ID)
		w->has_span_id = has_digit(id);
	return 0;
}

static int field_check(struct walking *w, const struct field *known,
		       const struct protobuf_field *field)
{
	if (field->type != known->type)
		return error_say(w->e, EPROTO, "field %u has the type %u, which it never has",
				 field->number, field->type);
	if (known->use == USE_ITEM && ++w->values > OTLP_VALUES_MAX)
		return error_say(w->e, EPROTO, "more than %u attributes, events and links",
				 OTLP_VALUES_MAX);
	if (known->use == USE_NONE || known->use == USE_ITEM)
		return 0;
	return id_check(w, known, field->bytes);
}

static int span_end(struct walking *w)
{
	uint64_t number = w->out->spans++;

	if (w->has_trace_id && w->has_span_id)
		return 0;
	return vec_push(&w->out->rejected, number);
}

static int message_walk(struct walking *w, const struct message *message,
			struct protobuf_bytes from, unsigned int depth)
{
	struct protobuf_field field;
	int more;

	if (depth > w->depth_most)
		return error_say(w->e, EPROTO, "values are nested deeper than %u", w->depth_most);
	if (message->is_span)
		w->has_trace_id = w->has_span_id = false;
	while ((more = protobuf_next(&from, &field)) > 0) {
		const struct field *known;
		int err;

		if (field.number >= message->count || !message->fields[field.number].known)
			continue;
		known = &message->fields[field.number];
		err = field_check(w, known, &field);
		if (!err && known->inner)
			err = message_walk(w, known->inner, field.bytes, depth + known->is_deeper);
		if (err)
			return err;
	}
	if (more < 0)
		return error_say(w->e, EPROTO, "a field is cut or has no valid type");
	return message->is_span ? span_end(w) : 0;
}

static int walk(struct walking *w, const void *data, size_t bytes)
{
	int err;

	*w->out = (struct otlp_walk){0};
	err = message_walk(w, &request, (struct protobuf_bytes){data, bytes}, 0);
	return err ? error_set(w->e, err, "malformed OTLP request") : 0;
}

int otlp_walk(const void *data, size_t bytes, struct otlp_walk *out, struct error *e)
{
	struct walking w = {.depth_most = set.depth, .out = out, .e = e};

	return walk(&w, data, bytes);
}

int otlp_walk_taken(const void *data, size_t bytes, struct error *e)
{
	struct otlp_walk out;
	struct walking w = {.depth_most = OTLP_DEPTH, .out = &out, .e = e};
	int err = walk(&w, data, bytes);

	otlp_walk_free(&out);
	return err;
}

void otlp_walk_free(struct otlp_walk *walk)
{
	vec_free(&walk->rejected);
}
