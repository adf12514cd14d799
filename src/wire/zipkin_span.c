/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of a Zipkin span becomes a span of OTLP. */
#include <string.h>

#include "wire/otlp.h"
#include "wire/zipkin_reading.h"

const char *zipkin_text_keep(struct reading *r, struct json_text text)
{
	char *copy;

	if (!r->pool || !text.bytes)
		return "";
	copy = pool_alloc(r->pool, text.bytes + 1, 1);
	if (!copy) {
		r->no_memory = true;
		return "";
	}
	copy[json_text_decode(text, copy)] = '\0';
	return copy;
}

void zipkin_tag_add(struct reading *r, const struct attribute *tag)
{
	if (!r->pool)
		return;
	if (r->tags.count == otlp_attributes_most())
		r->span.attributes.dropped++;
	else if (vec_push(&r->tags, *tag))
		r->no_memory = true;
}

static void text_tag(struct reading *r, const char *key, struct json_text text)
{
	struct attribute tag = {.key = key, .type = VALUE_STRING};

	if (!text.bytes)
		return;
	tag.string = zipkin_text_keep(r, text);
	zipkin_tag_add(r, &tag);
}

static void port_tag(struct reading *r, const char *key, uint64_t port)
{
	const struct attribute tag = {.key = key, .type = VALUE_INTEGER, .integer = (int64_t)port};

	if (port)
		zipkin_tag_add(r, &tag);
}

static void endpoint_tags(struct reading *r)
{
	const struct endpoint *local = &r->local, *remote = &r->remote;

	text_tag(r, ZIPKIN_LOCAL_ADDRESS, local->ipv4.bytes ? local->ipv4 : local->ipv6);
	port_tag(r, ZIPKIN_LOCAL_PORT, local->port);
	text_tag(r, ZIPKIN_PEER_SERVICE, remote->service);
	text_tag(r, ZIPKIN_PEER_ADDRESS, remote->ipv4.bytes ? remote->ipv4 : remote->ipv6);
	port_tag(r, ZIPKIN_PEER_PORT, remote->port);
}

static void *copy_keep(struct reading *r, const void *data, size_t count, size_t size)
{
	void *copy = pool_alloc(r->pool, count, size);

	if (!copy)
		r->no_memory = true;
	else if (count)
		memcpy(copy, data, count * size);
	return copy;
}

static void resource_use(struct reading *r)
{
	const char *text = zipkin_text_keep(r, r->local.service);
	const char *service = strlen(text) <= SERVICE_BYTES_MAX ? text : "";
	struct received_resource resource = {.service = *service ? service : SERVICE_UNKNOWN};
	struct attribute name = {
		.key = "service.name", .type = VALUE_STRING, .string = resource.service};

	if (r->resource && strcmp(r->resource->service, resource.service) == 0)
		return;
	if (*service) {
		resource.attributes.data = copy_keep(r, &name, 1, sizeof(name));
		resource.attributes.count = 1;
	}
	r->resource = copy_keep(r, &resource, 1, sizeof(resource));
}

static void scope_use(struct reading *r)
{
	if (r->last_scope && strcmp(r->last_scope->name, r->scope.name) == 0 &&
	    strcmp(r->last_scope->version, r->scope.version) == 0)
		return;
	r->last_scope = copy_keep(r, &r->scope, 1, sizeof(r->scope));
}

void zipkin_span_add(struct reading *r)
{
	struct received_span *span = &r->span;

	resource_use(r);
	scope_use(r);
	endpoint_tags(r);
	if (span->parent_id == span->span_id)
		span->parent_id = 0;
	if (__builtin_add_overflow(span->begin_ns, r->duration_ns, &span->end_ns))
		span->end_ns = UINT64_MAX;
	span->resource = r->resource;
	span->scope = r->last_scope;
	span->attributes.data = copy_keep(r, r->tags.data, r->tags.count, sizeof(*r->tags.data));
	span->attributes.count = r->tags.count;
	span->events = copy_keep(r, r->events.data, r->events.count, sizeof(*r->events.data));
	span->events_count = r->events.count;
	if (!r->no_memory && vec_push(r->out, *span))
		r->no_memory = true;
}
