/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "serve/answer.h"
#include "serve/jaeger.h"
#include "serve/route.h"
#include "span/attributes.h"

static void tag_begin(struct json *j, const char *key, const char *type)
{
	json_object_begin(j, NULL);
	json_string(j, "key", key);
	json_string(j, "type", type);
}

static void string_tag(struct json *j, const char *key, const char *value)
{
	tag_begin(j, key, "string");
	json_string(j, "value", value);
	json_object_end(j);
}

/* Arrays and maps are JSON in a string. */
static void nested_tag(struct json *j, const struct attribute *a)
{
	struct attribute bare = *a;
	struct bytes text = {0};
	struct json inner;

	bare.key = NULL;
	json_init_bytes(&inner, &text);
	attribute_write_json(&inner, &bare);
	if (json_end(&inner) == 0 && text.count) {
		text.data[text.count - 1] = '\0';
		string_tag(j, a->key, (const char *)text.data);
	} else {
		j->err = -ENOMEM;
	}
	bytes_free(&text);
}

static void attribute_tag(struct json *j, const struct attribute *a)
{
	static const char *const types[] = {[VALUE_STRING] = "string",
					    [VALUE_INTEGER] = "int64",
					    [VALUE_REAL] = "float64",
					    [VALUE_BOOLEAN] = "bool",
					    [VALUE_BYTES] = "binary"};
	struct attribute value = *a;

	if (a->type == VALUE_NONE) {
		string_tag(j, a->key, "");
		return;
	}
	if (a->type == VALUE_ARRAY || a->type == VALUE_MAP) {
		nested_tag(j, a);
		return;
	}
	tag_begin(j, a->key, types[a->type]);
	value.key = "value";
	attribute_write_json(j, &value);
	json_object_end(j);
}

static void list_tags(struct json *j, const struct received_list *list, const char *left_out)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!left_out || strcmp(list->data[i].key, left_out) != 0)
			attribute_tag(j, &list->data[i]);
	}
}

/* Tags in which Jaeger keeps what OTLP has fields for. */
static void field_tags(struct json *j, const struct received_span *span)
{
	if (span->kind)
		string_tag(j, "span.kind", received_kind_name(span->kind));
	if (span->status)
		string_tag(j, "otel.status_code", span->status == RECEIVED_ERROR ? "ERROR" : "OK");
	if (span->status == RECEIVED_ERROR) {
		tag_begin(j, "error", "bool");
		json_bool(j, "value", true);
		json_object_end(j);
	}
	if (*span->status_text)
		string_tag(j, "otel.status_description", span->status_text);
	if (*span->scope->name)
		string_tag(j, "otel.scope.name", span->scope->name);
	if (*span->scope->version)
		string_tag(j, "otel.scope.version", span->scope->version);
	if (*span->trace_state)
		string_tag(j, "w3c.tracestate", span->trace_state);
}

static void reference_write(struct json *j, const char *type, struct trace_id trace, uint64_t id)
{
	char trace_text[TRACE_ID_BYTES], id_text[SPAN_ID_BYTES];

	trace_id_text(trace_text, trace);
	span_id_text(id_text, id);
	json_object_begin(j, NULL);
	json_string(j, "refType", type);
	json_string(j, "traceID", trace_text);
	json_string(j, "spanID", id_text);
	json_object_end(j);
}

static void references_write(struct json *j, const struct received_span *span)
{
	json_array_begin(j, "references");
	if (span->parent_id)
		reference_write(j, "CHILD_OF", span->trace, span->parent_id);
	for (size_t i = 0; i < span->links_count; i++)
		reference_write(j, "FOLLOWS_FROM", span->links[i].trace, span->links[i].span_id);
	json_array_end(j);
}

static void logs_write(struct json *j, const struct received_span *span)
{
	json_array_begin(j, "logs");
	for (size_t i = 0; i < span->events_count; i++) {
		const struct received_event *event = &span->events[i];

		json_object_begin(j, NULL);
		json_u64(j, "timestamp", event->time_ns / 1000);
		json_array_begin(j, "fields");
		if (*event->name)
			string_tag(j, "event", event->name);
		list_tags(j, &event->attributes, NULL);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void span_write(struct json *j, const struct received_span *span, size_t process)
{
	char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], name[24];

	trace_id_text(trace, span->trace);
	span_id_text(id, span->span_id);
	snprintf(name, sizeof(name), "p%zu", process + 1);
	json_object_begin(j, NULL);
	json_string(j, "traceID", trace);
	json_string(j, "spanID", id);
	json_string(j, "operationName", span->name);
	references_write(j, span);
	json_u64(j, "startTime", span->begin_ns / 1000);
	json_u64(j, "duration", received_duration_ns(span) / 1000);
	json_array_begin(j, "tags");
	list_tags(j, &span->attributes, NULL);
	field_tags(j, span);
	json_array_end(j);
	logs_write(j, span);
	json_string(j, "processID", name);
	json_null(j, "warnings");
	json_object_end(j);
}

static void process_write(struct json *j, const struct received_resource *resource, size_t process)
{
	char name[24];

	snprintf(name, sizeof(name), "p%zu", process + 1);
	json_object_begin(j, name);
	json_string(j, "serviceName", resource->service);
	json_array_begin(j, "tags");
	list_tags(j, &resource->attributes, "service.name");
	json_array_end(j);
	json_object_end(j);
}

/* The resources of a trace, in the order in which its spans have them. */
typedef VEC(const struct received_resource *) resource_list;

/* Numbers of the resources of a trace: the same resource is the same object in a batch. */
struct processes {
	resource_list list;
	struct map numbers; /* from 1, by address */
};

/* The number of the resource, from 0; one that is new is added. */
static size_t process_of(struct json *j, struct processes *p,
			 const struct received_resource *resource)
{
	uint64_t key = (uintptr_t)resource;
	uintptr_t number = (uintptr_t)map_get(&p->numbers, key);

	if (number)
		return number - 1;
	number = p->list.count + 1;
	if (vec_push(&p->list, resource) || map_put(&p->numbers, key, (void *)number))
		j->err = -ENOMEM;
	return number - 1;
}

static void trace_write(struct json *j, const struct received_span *const *spans, size_t count)
{
	struct processes processes = {0};
	char text[TRACE_ID_BYTES];

	trace_id_text(text, spans[0]->trace);
	json_object_begin(j, NULL);
	json_string(j, "traceID", text);
	json_array_begin_lines(j, "spans");
	for (size_t i = 0; i < count; i++)
		span_write(j, spans[i], process_of(j, &processes, spans[i]->resource));
	json_array_end(j);
	json_object_begin(j, "processes");
	for (size_t i = 0; i < processes.list.count; i++)
		process_write(j, processes.list.data[i], i);
	json_object_end(j);
	json_null(j, "warnings");
	json_object_end(j);
	vec_free(&processes.list);
	map_free(&processes.numbers);
}

static int ids_compare(struct trace_id a, struct trace_id b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return (a.low > b.low) - (a.low < b.low);
}

/* By trace; spans of a trace lie in one batch, in their order. */
static int spans_compare(const void *a, const void *b)
{
	const struct received_span *x = *(const struct received_span *const *)a;
	const struct received_span *y = *(const struct received_span *const *)b;
	int order = ids_compare(x->trace, y->trace);

	return order ? order : (x > y) - (x < y);
}

/* The first span that is not before the trace. */
static size_t trace_find_first(const struct received_span *const *spans, size_t count,
			       struct trace_id id)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids_compare(spans[middle]->trace, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Writes a trace, unless it has no span, or was written already. */
static void trace_write_once(struct json *j, const struct received_span *const *spans, size_t count,
			     bool *written, struct trace_id id)
{
	size_t begin = trace_find_first(spans, count, id), end = begin;

	while (end < count && ids_compare(spans[end]->trace, id) == 0)
		end++;
	if (begin == end || written[begin])
		return;
	written[begin] = true;
	trace_write(j, spans + begin, end - begin);
}

/* The number of a trace in the order of the ids, and its place in the batch. */
struct placed_span {
	size_t trace, place;
};

static int placed_compare(const void *a, const void *b)
{
	const struct placed_span *x = a, *y = b;

	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static uint64_t trace_key(struct trace_id id)
{
	return hash_pair(id.high, id.low);
}

int jaeger_batch_sort(struct received_batch *batch, const struct store_ids *ids)
{
	struct placed_span *placed = calloc(batch->count + 1, sizeof(*placed));
	struct received_span *sorted = calloc(batch->count + 1, sizeof(*sorted));
	struct map numbers = {0};
	int err = placed && sorted ? 0 : -ENOMEM;

	for (uintptr_t i = ids->count; i > 0 && !err; i--)
		err = map_put(&numbers, trace_key(ids->data[i - 1]), (void *)i);
	for (size_t i = 0; i < batch->count && !err; i++) {
		uint64_t key = trace_key(batch->data[i].trace);

		placed[i] = (struct placed_span){(uintptr_t)map_get(&numbers, key), i};
	}
	if (!err) {
		qsort(placed, batch->count, sizeof(*placed), placed_compare);
		for (size_t i = 0; i < batch->count; i++)
			sorted[i] = batch->data[placed[i].place];
		memcpy(batch->data, sorted, batch->count * sizeof(*sorted));
	}
	map_free(&numbers);
	free(placed);
	free(sorted);
	return err;
}

int jaeger_traces_write(struct json *j, const struct received_batch *batch,
			const struct store_ids *ids)
{
	const struct received_span **spans = calloc(batch->count + 1, sizeof(*spans));
	bool *written = calloc(batch->count + 1, sizeof(*written));
	int err = spans && written ? 0 : -ENOMEM;

	for (size_t i = 0; i < batch->count && !err; i++)
		spans[i] = &batch->data[i];
	if (!err)
		qsort(spans, batch->count, sizeof(*spans), spans_compare);
	for (size_t i = 0; i < ids->count && !err; i++)
		trace_write_once(j, spans, batch->count, written, ids->data[i]);
	free(spans);
	free(written);
	return err;
}
