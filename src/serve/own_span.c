/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/own_span.h"

#include <errno.h>

#include "serve/route.h"
#include "span/attributes.h"

/* Numbers of the resource and the scope of a span. */
struct span_origin {
	size_t resource, scope;
};

static void list_write(struct json *j, const struct received_list *list)
{
	attributes_write_json(j, "attributes", list->data, list->count);
	if (list->dropped)
		json_u64(j, "dropped", list->dropped);
}

static void events_write(struct json *j, const struct received_span *span)
{
	json_array_begin(j, "events");
	for (size_t i = 0; i < span->events_count; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "time_ns", span->events[i].time_ns);
		json_string(j, "name", span->events[i].name);
		list_write(j, &span->events[i].attributes);
		json_object_end(j);
	}
	json_array_end(j);
	if (span->events_dropped)
		json_u64(j, "events_dropped", span->events_dropped);
}

static void links_write(struct json *j, const struct received_span *span)
{
	json_array_begin(j, "links");
	for (size_t i = 0; i < span->links_count; i++) {
		const struct received_link *link = &span->links[i];
		char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES];

		trace_id_text(trace, link->trace);
		span_id_text(id, link->span_id);
		json_object_begin(j, NULL);
		json_string(j, "trace_id", trace);
		json_string(j, "span_id", id);
		if (*link->trace_state)
			json_string(j, "trace_state", link->trace_state);
		list_write(j, &link->attributes);
		json_object_end(j);
	}
	json_array_end(j);
	if (span->links_dropped)
		json_u64(j, "links_dropped", span->links_dropped);
}

static void span_write(struct json *j, const struct received_span *span,
		       const struct span_origin *origin)
{
	static const char *const states[] = {"unset", "ok", "error"};
	char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];

	trace_id_text(trace, span->trace);
	span_id_text(id, span->span_id);
	span_id_text(parent, span->parent_id);
	json_object_begin(j, NULL);
	json_string(j, "trace_id", trace);
	json_string(j, "span_id", id);
	if (span->parent_id)
		json_string(j, "parent_id", parent);
	json_string(j, "name", span->name);
	json_string(j, "kind", received_kind_name(span->kind));
	json_u64(j, "begin_unix_ns", span->begin_ns);
	json_u64(j, "end_unix_ns", span->end_ns);
	json_string(j, "status", states[span->status <= RECEIVED_ERROR ? span->status : 0]);
	if (*span->status_text)
		json_string(j, "status_message", span->status_text);
	if (*span->trace_state)
		json_string(j, "trace_state", span->trace_state);
	json_string(j, "service", span->resource->service);
	if (origin) {
		json_u64(j, "resource", origin->resource);
		json_u64(j, "scope", origin->scope);
	}
	list_write(j, &span->attributes);
	events_write(j, span);
	links_write(j, span);
	json_object_end(j);
}

void own_span_write(struct json *j, const struct received_span *span)
{
	span_write(j, span, NULL);
}

void own_span_more_write(struct json *j, const struct received_span *span)
{
	if (*span->status_text)
		json_string(j, "status_message", span->status_text);
	if (*span->trace_state)
		json_string(j, "trace_state", span->trace_state);
	if (span->attributes.dropped)
		json_u64(j, "dropped", span->attributes.dropped);
	events_write(j, span);
	links_write(j, span);
}

int origins_number(struct origins *o, const void *origin, size_t *number)
{
	uint64_t key = (uintptr_t)origin;
	uintptr_t known = (uintptr_t)map_get(&o->numbers, key);
	int err = 0;

	if (!known) {
		err = vec_push(&o->list, origin);
		known = o->list.count;
		err = err ? err : map_put(&o->numbers, key, (void *)known);
	}
	*number = known - 1;
	return err;
}

static void resources_write(struct json *j, const struct origins *resources)
{
	json_array_begin_lines(j, "resources");
	for (size_t i = 0; i < resources->list.count; i++) {
		const struct received_resource *resource = resources->list.data[i];

		json_object_begin(j, NULL);
		json_string(j, "service", resource->service);
		list_write(j, &resource->attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void scopes_write(struct json *j, const struct origins *scopes)
{
	json_array_begin_lines(j, "scopes");
	for (size_t i = 0; i < scopes->list.count; i++) {
		const struct received_scope *scope = scopes->list.data[i];

		json_object_begin(j, NULL);
		json_string(j, "name", scope->name);
		json_string(j, "version", scope->version);
		list_write(j, &scope->attributes);
		json_object_end(j);
	}
	json_array_end(j);
}

void origins_write(struct json *j, const struct origins *resources, const struct origins *scopes)
{
	resources_write(j, resources);
	scopes_write(j, scopes);
}

void origins_free(struct origins *o)
{
	vec_free(&o->list);
	map_free(&o->numbers);
}

int own_spans_write(struct json *j, const struct received_batch *batch)
{
	struct origins resources = {0}, scopes = {0};
	int err = 0;

	json_array_begin_lines(j, "spans");
	for (size_t i = 0; i < batch->count && !err; i++) {
		const struct received_span *span = &batch->data[i];
		struct span_origin origin = {0};

		err = origins_number(&resources, span->resource, &origin.resource);
		err = err ? err : origins_number(&scopes, span->scope, &origin.scope);
		if (!err)
			span_write(j, span, &origin);
	}
	json_array_end(j);
	origins_write(j, &resources, &scopes);
	origins_free(&resources);
	origins_free(&scopes);
	return err;
}
