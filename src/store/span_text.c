/* SPDX-License-Identifier: Apache-2.0 */
#include "store/span_text.h"

#include <errno.h>
#include <string.h>

#include "base/json_bytes.h"
#include "base/json_reader.h"
#include "span/attributes.h"

static void text_begin(struct json *j, struct bytes *to)
{

	to->count = 0;
	json_init_bytes(j, to);
}

/* Ends the text without the line break. */
static int text_end(struct json *j, struct bytes *to)
{
	int err = json_end(j);

	if (!err)
		to->count--;
	return err;
}

static void number_put(struct json *j, const char *key, uint64_t number)
{
	if (number)
		json_s64(j, key, (int64_t)number);
}

static void string_put(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_string(j, key, text);
}

static void list_put(struct json *j, const struct received_list *list)
{
	number_put(j, "dropped", list->dropped);
	if (list->count)
		attributes_write_exact(j, "attributes", list->data, list->count);
}

/* Most spans have none of it. */
static int nothing_put(struct bytes *to)
{
	to->count = 0;
	bytes_put(to, "{}", 2);
	return to->failed ? -ENOMEM : 0;
}

int attributes_text(struct bytes *to, const struct received_list *list)
{
	struct json j;

	if (!list->count)
		return nothing_put(to);
	text_begin(&j, to);
	attributes_write_exact(&j, NULL, list->data, list->count);
	return text_end(&j, to);
}

int resource_text(struct bytes *to, const struct received_resource *resource)
{
	struct json j;

	text_begin(&j, to);
	json_object_begin(&j, NULL);
	list_put(&j, &resource->attributes);
	json_object_end(&j);
	return text_end(&j, to);
}

int scope_text(struct bytes *to, const struct received_scope *scope)
{
	struct json j;

	text_begin(&j, to);
	json_object_begin(&j, NULL);
	string_put(&j, "name", scope->name);
	string_put(&j, "version", scope->version);
	list_put(&j, &scope->attributes);
	json_object_end(&j);
	return text_end(&j, to);
}

static void events_put(struct json *j, const struct received_span *span)
{
	if (!span->events_count)
		return;
	json_array_begin(j, "events");
	for (size_t i = 0; i < span->events_count; i++) {
		json_object_begin(j, NULL);
		number_put(j, "time_ns", span->events[i].time_ns);
		string_put(j, "name", span->events[i].name);
		list_put(j, &span->events[i].attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void links_put(struct json *j, const struct received_span *span)
{
	if (!span->links_count)
		return;
	json_array_begin(j, "links");
	for (size_t i = 0; i < span->links_count; i++) {
		const struct received_link *link = &span->links[i];

		json_object_begin(j, NULL);
		number_put(j, "trace_high", link->trace.high);
		number_put(j, "trace_low", link->trace.low);
		number_put(j, "span", link->span_id);
		string_put(j, "trace_state", link->trace_state);
		list_put(j, &link->attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

static bool has_rest(const struct received_span *span)
{
	return *span->trace_state || *span->status_text || span->shared || span->flags ||
	       span->end_ns < span->begin_ns || span->attributes.dropped || span->events_count ||
	       span->events_dropped || span->links_count || span->links_dropped;
}

int rest_text(struct bytes *to, const struct received_span *span)
{
	struct json j;

	if (!has_rest(span))
		return nothing_put(to);
	text_begin(&j, to);
	json_object_begin(&j, NULL);
	string_put(&j, "trace_state", span->trace_state);
	string_put(&j, "status", span->status_text);
	number_put(&j, "shared", span->shared);
	number_put(&j, "flags", span->flags);
	if (span->end_ns < span->begin_ns)
		json_s64(&j, "end_ns", (int64_t)span->end_ns);
	number_put(&j, "dropped", span->attributes.dropped);
	events_put(&j, span);
	number_put(&j, "events_dropped", span->events_dropped);
	links_put(&j, span);
	number_put(&j, "links_dropped", span->links_dropped);
	json_object_end(&j);
	return text_end(&j, to);
}

int attributes_text_read(struct stored_text text, struct pool *pool, struct received_list *list)
{
	return attributes_read(text.data, text.bytes, pool, &list->data, &list->count);
}

#define THREAD_ATTRIBUTES_MAX 24 /* one for each part of a split, and a few others */

static bool tells_thread(struct json_text key)
{
	static const char time[] = "fathom.time.";

	return json_text_is(key, "fathom.kind") || json_text_is(key, "thread.id") ||
	       json_text_is(key, "fathom.tid") ||
	       (key.bytes >= sizeof(time) && memcmp(key.data, time, sizeof(time) - 1) == 0);
}

/* A text in the pool; NULL: out of memory. */
static const char *decoded(struct json_text text, struct pool *pool)
{
	char *copy = pool_alloc(pool, text.bytes + 1, 1);

	if (copy && text.is_escaped)
		json_text_decode(text, copy);
	else if (copy)
		memcpy(copy, text.data, text.bytes);
	return copy;
}

/* Reads the value of a key, if it is a text or a whole number. Its type is left alone otherwise. */
static int thread_value_read(struct json_reader *r, struct json_text key, struct pool *pool,
			     struct attribute *to)
{
	enum json_type type = json_peek(r);
	struct json_text text = {.data = ""};

	if (type != JSON_STRING && type != JSON_NUMBER) {
		json_skip(r);
		return 0;
	}
	json_scalar_read(r, &text);
	if (type == JSON_NUMBER && !json_text_s64(text, &to->integer))
		return 0;
	to->type = type == JSON_STRING ? VALUE_STRING : VALUE_INTEGER;
	to->key = decoded(key, pool);
	if (type == JSON_STRING)
		to->string = decoded(text, pool);
	return !to->key || (type == JSON_STRING && !to->string) ? -ENOMEM : 0;
}

int thread_text_read(struct stored_text text, struct pool *pool, struct received_list *list)
{
	struct attribute *data = pool_alloc(pool, THREAD_ATTRIBUTES_MAX, sizeof(*data));
	struct json_reader r;
	struct json_text key;
	size_t count = 0;
	int err = data ? 0 : -ENOMEM;

	json_reader_init(&r, text.data, text.bytes, ATTRIBUTES_DEPTH + 1);
	json_object_enter(&r);
	while (!err && json_key_next(&r, &key)) {
		if (count == THREAD_ATTRIBUTES_MAX || !tells_thread(key)) {
			json_skip(&r);
			continue;
		}
		err = thread_value_read(&r, key, pool, &data[count]);
		count += data[count].key != NULL;
	}
	if (!err && json_finish(&r))
		err = -EINVAL;
	if (!err)
		*list = (struct received_list){.data = data, .count = count};
	return err;
}

/* The keys of an object of this file. */
static uint64_t number_of(const struct received_list *object, const char *key)
{
	const struct attribute *a = attributes_find(object->data, object->count, key);

	return a && a->type == VALUE_INTEGER ? (uint64_t)a->integer : 0;
}

static const char *string_of(const struct received_list *object, const char *key)
{
	const struct attribute *a = attributes_find(object->data, object->count, key);

	return a && a->type == VALUE_STRING ? a->string : "";
}

static struct received_list items_of(const struct received_list *object, const char *key,
				     enum value_type type)
{
	const struct attribute *a = attributes_find(object->data, object->count, key);

	if (!a || a->type != type)
		return (struct received_list){0};
	return (struct received_list){.data = a->items, .count = a->count};
}

static struct received_list list_of(const struct received_list *object)
{
	struct received_list list = items_of(object, "attributes", VALUE_MAP);

	list.dropped = (uint32_t)number_of(object, "dropped");
	return list;
}

int resource_text_read(struct stored_text text, struct pool *pool,
		       struct received_resource *resource)
{
	struct received_list object = {0};
	int err = attributes_text_read(text, pool, &object);

	if (!err)
		resource->attributes = list_of(&object);
	return err;
}

int scope_text_read(struct stored_text text, struct pool *pool, struct received_scope *scope)
{
	struct received_list object = {0};
	int err = attributes_text_read(text, pool, &object);

	if (err)
		return err;
	scope->name = string_of(&object, "name");
	scope->version = string_of(&object, "version");
	scope->attributes = list_of(&object);
	return 0;
}

static struct received_list item_of(const struct received_list *list, size_t i)
{
	const struct attribute *item = &list->data[i];

	if (item->type != VALUE_MAP)
		return (struct received_list){0};
	return (struct received_list){.data = item->items, .count = item->count};
}

static int events_read(const struct received_list *object, struct pool *pool,
		       struct received_span *span)
{
	struct received_list list = items_of(object, "events", VALUE_ARRAY);
	struct received_event *events = pool_alloc(pool, list.count, sizeof(*events));

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < list.count; i++) {
		struct received_list item = item_of(&list, i);

		events[i] = (struct received_event){.time_ns = number_of(&item, "time_ns"),
						    .name = string_of(&item, "name"),
						    .attributes = list_of(&item)};
	}
	span->events = events;
	span->events_count = list.count;
	return 0;
}

static int links_read(const struct received_list *object, struct pool *pool,
		      struct received_span *span)
{
	struct received_list list = items_of(object, "links", VALUE_ARRAY);
	struct received_link *links = pool_alloc(pool, list.count, sizeof(*links));

	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < list.count; i++) {
		struct received_list item = item_of(&list, i);

		links[i] = (struct received_link){
			.trace = {number_of(&item, "trace_high"), number_of(&item, "trace_low")},
			.span_id = number_of(&item, "span"),
			.trace_state = string_of(&item, "trace_state"),
			.attributes = list_of(&item)};
	}
	span->links = links;
	span->links_count = list.count;
	return 0;
}

int rest_text_read(struct stored_text text, struct pool *pool, struct received_span *span)
{
	struct received_list object = {0};
	int err = attributes_text_read(text, pool, &object);

	if (err)
		return err;
	span->trace_state = string_of(&object, "trace_state");
	span->status_text = string_of(&object, "status");
	span->shared = number_of(&object, "shared") != 0;
	span->flags = (uint32_t)number_of(&object, "flags");
	if (attributes_find(object.data, object.count, "end_ns"))
		span->end_ns = number_of(&object, "end_ns");
	span->attributes.dropped = (uint32_t)number_of(&object, "dropped");
	span->events_dropped = (uint32_t)number_of(&object, "events_dropped");
	span->links_dropped = (uint32_t)number_of(&object, "links_dropped");
	err = events_read(&object, pool, span);
	return err ? err : links_read(&object, pool, span);
}
