/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "serve/route.h"
#include "span/attributes.h"

static void number_write(struct json *j, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	json_string(j, key, text);
}

static void small_write(struct json *j, const char *key, uint64_t number)
{
	if (number)
		json_u64(j, key, number);
}

static void text_write(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_string(j, key, text);
}

static void value_write(struct json *j, const char *key, const struct attribute *a);

static void values_write(struct json *j, const struct attribute *a, bool is_map)
{
	json_object_begin(j, is_map ? "kvlistValue" : "arrayValue");
	json_array_begin(j, "values");
	for (size_t i = 0; i < a->count; i++) {
		if (is_map) {
			json_object_begin(j, NULL);
			json_string(j, "key", a->items[i].key);
		}
		value_write(j, is_map ? "value" : NULL, &a->items[i]);
		if (is_map)
			json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

/* A plain value, or bytes, as JSON has it. */
static void plain_write(struct json *j, const struct attribute *a)
{
	static const char *const names[] = {[VALUE_STRING] = "stringValue",
					    [VALUE_REAL] = "doubleValue",
					    [VALUE_BOOLEAN] = "boolValue",
					    [VALUE_BYTES] = "bytesValue"};
	struct attribute named = *a;

	named.key = names[a->type];
	attribute_write_json(j, &named);
}

static void value_write(struct json *j, const char *key, const struct attribute *a)
{
	char text[24];

	json_object_begin(j, key);
	if (a->type == VALUE_INTEGER) {
		snprintf(text, sizeof(text), "%" PRId64, a->integer);
		json_string(j, "intValue", text);
	} else if (a->type == VALUE_ARRAY || a->type == VALUE_MAP) {
		values_write(j, a, a->type == VALUE_MAP);
	} else if (a->type != VALUE_NONE) {
		plain_write(j, a);
	}
	json_object_end(j);
}

static void list_write(struct json *j, const struct received_list *list)
{
	if (list->count) {
		json_array_begin(j, "attributes");
		for (size_t i = 0; i < list->count; i++) {
			json_object_begin(j, NULL);
			json_string(j, "key", list->data[i].key);
			value_write(j, "value", &list->data[i]);
			json_object_end(j);
		}
		json_array_end(j);
	}
	small_write(j, "droppedAttributesCount", list->dropped);
}

static void events_write(struct json *j, const struct received_span *span)
{
	if (!span->events_count)
		return;
	json_array_begin(j, "events");
	for (size_t i = 0; i < span->events_count; i++) {
		json_object_begin(j, NULL);
		number_write(j, "timeUnixNano", span->events[i].time_ns);
		text_write(j, "name", span->events[i].name);
		list_write(j, &span->events[i].attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void links_write(struct json *j, const struct received_span *span)
{
	char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES];

	if (!span->links_count)
		return;
	json_array_begin(j, "links");
	for (size_t i = 0; i < span->links_count; i++) {
		trace_id_text(trace, span->links[i].trace);
		span_id_text(id, span->links[i].span_id);
		json_object_begin(j, NULL);
		json_string(j, "traceId", trace);
		json_string(j, "spanId", id);
		text_write(j, "traceState", span->links[i].trace_state);
		list_write(j, &span->links[i].attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void status_write(struct json *j, const struct received_span *span)
{
	json_object_begin(j, "status");
	text_write(j, "message", span->status_text);
	small_write(j, "code", span->status);
	json_object_end(j);
}

static void span_write(struct json *j, const struct received_span *span)
{
	char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];

	trace_id_text(trace, span->trace);
	span_id_text(id, span->span_id);
	span_id_text(parent, span->parent_id);
	json_object_begin(j, NULL);
	json_string(j, "traceId", trace);
	json_string(j, "spanId", id);
	text_write(j, "traceState", span->trace_state);
	if (span->parent_id)
		json_string(j, "parentSpanId", parent);
	small_write(j, "flags", span->flags);
	text_write(j, "name", span->name);
	small_write(j, "kind", span->kind);
	number_write(j, "startTimeUnixNano", span->begin_ns);
	number_write(j, "endTimeUnixNano", span->end_ns);
	list_write(j, &span->attributes);
	events_write(j, span);
	small_write(j, "droppedEventsCount", span->events_dropped);
	links_write(j, span);
	small_write(j, "droppedLinksCount", span->links_dropped);
	status_write(j, span);
	json_object_end(j);
}

/* The spans from `first` on with its resource and its scope. Returns the first that is not. */
static size_t scope_write(struct json *j, const struct received_batch *batch, size_t first)
{
	const struct received_span *spans = batch->data;
	const struct received_scope *scope = spans[first].scope;
	size_t i = first;

	json_object_begin(j, NULL);
	json_object_begin(j, "scope");
	text_write(j, "name", scope->name);
	text_write(j, "version", scope->version);
	list_write(j, &scope->attributes);
	json_object_end(j);
	json_array_begin_lines(j, "spans");
	for (; i < batch->count && spans[i].resource == spans[first].resource &&
	       spans[i].scope == scope;
	     i++)
		span_write(j, &spans[i]);
	json_array_end(j);
	json_object_end(j);
	return i;
}

/* OTLP has no field for the name of the service: it is an attribute, which few senders leave out.
 */
static void resource_write(struct json *j, const struct received_resource *resource)
{
	const struct received_list *list = &resource->attributes;
	const struct attribute name = {
		.key = "service.name", .type = VALUE_STRING, .string = resource->service};
	const struct received_list bare = {&name, 1, list->dropped};

	json_object_begin(j, "resource");
	list_write(j, list->count || !*resource->service ? list : &bare);
	json_object_end(j);
}

void otlp_json_write(struct json *j, const struct received_batch *batch)
{
	size_t i = 0;

	json_array_begin(j, "resourceSpans");
	while (i < batch->count) {
		const struct received_resource *resource = batch->data[i].resource;

		json_object_begin(j, NULL);
		resource_write(j, resource);
		json_array_begin(j, "scopeSpans");
		while (i < batch->count && batch->data[i].resource == resource)
			i = scope_write(j, batch, i);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}
