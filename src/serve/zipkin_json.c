/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/answer.h"
#include "serve/links.h"
#include "serve/route.h"
#include "serve/zipkin.h"
#include "span/attributes.h"
#include "wire/zipkin.h"

#define NAME_BYTES_MAX 1024 /* longer ones keep their case */

void zipkin_name_write(struct json *j, const char *key, const char *name)
{
	char lower[NAME_BYTES_MAX];
	size_t n = strlen(name);

	if (n >= sizeof(lower)) {
		json_string(j, key, name);
		return;
	}
	for (size_t i = 0; i <= n; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 32) : name[i];
	json_string(j, key, lower);
}

static const struct attribute *find(const struct received_span *span, const char *key)
{
	return attributes_find(span->attributes.data, span->attributes.count, key);
}

/* NULL: there is none, or it is no text. */
static const char *text_of(const struct received_span *span, const char *key)
{
	const struct attribute *a = find(span, key);

	return a && a->type == VALUE_STRING && *a->string ? a->string : NULL;
}

static void address_write(struct json *j, const char *address)
{
	unsigned char any[16];

	if (address && inet_pton(AF_INET, address, any) == 1)
		json_string(j, "ipv4", address);
	else if (address && inet_pton(AF_INET6, address, any) == 1)
		json_string(j, "ipv6", address);
}

static void port_write(struct json *j, const struct attribute *port)
{
	if (port && port->type == VALUE_INTEGER && port->integer > 0 && port->integer < 65536)
		json_s64(j, "port", port->integer);
}

static void endpoints_write(struct json *j, const struct received_span *span)
{
	const char *remote = remote_service(span);
	const char *address = text_of(span, ZIPKIN_PEER_ADDRESS);
	const struct attribute *port = find(span, ZIPKIN_PEER_PORT);

	json_object_begin(j, "localEndpoint");
	zipkin_name_write(j, "serviceName", span->resource->service);
	address_write(j, text_of(span, ZIPKIN_LOCAL_ADDRESS));
	port_write(j, find(span, ZIPKIN_LOCAL_PORT));
	json_object_end(j);
	if (!remote && !address && !port)
		return;
	json_object_begin(j, "remoteEndpoint");
	if (remote)
		zipkin_name_write(j, "serviceName", remote);
	address_write(j, address);
	port_write(j, port);
	json_object_end(j);
}

/* Writes what the JSON writer makes of a value, without its first and last characters, as a text.
 */
static void inner_text(struct json *j, const char *key, struct bytes *text, size_t left_out)
{
	if (text->failed || text->count < 2 * left_out + 1) /* it ends with a line break */
		return;
	text->data[text->count - 1 - left_out] = '\0';
	json_string(j, key, (const char *)text->data + left_out);
}

static void tag_write(struct json *j, const struct attribute *a)
{
	struct attribute bare = *a;
	struct bytes text = {0};
	struct json inner;

	if (a->type == VALUE_STRING || a->type == VALUE_NONE) {
		json_string(j, a->key, a->type == VALUE_STRING ? a->string : "");
		return;
	}
	bare.key = NULL;
	json_init_bytes(&inner, &text);
	attribute_write_json(&inner, &bare);
	if (json_end(&inner) == 0)
		inner_text(j, a->key, &text, a->type == VALUE_BYTES);
	bytes_free(&text);
}

static void annotation_value(struct json *j, const struct received_event *event)
{
	struct bytes text = {0};
	struct json inner;

	if (!event->attributes.count) {
		json_string(j, "value", event->name);
		return;
	}
	/* "NAME":{...}, as OpenTelemetry writes it for Zipkin */
	json_init_bytes(&inner, &text);
	json_object_begin(&inner, NULL);
	attributes_write_json(&inner, event->name, event->attributes.data, event->attributes.count);
	json_object_end(&inner);
	if (json_end(&inner) == 0)
		inner_text(j, "value", &text, 1);
	bytes_free(&text);
}

static void annotations_write(struct json *j, const struct received_span *span)
{
	if (!span->events_count)
		return;
	json_array_begin(j, "annotations");
	for (size_t i = 0; i < span->events_count; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "timestamp", span->events[i].time_ns / 1000);
		annotation_value(j, &span->events[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

/* What other fields of a Zipkin span show. */
static bool is_shown(const char *key)
{
	static const char *const keys[] = {
		ZIPKIN_DEBUG,	      ZIPKIN_PEER_SERVICE, ZIPKIN_PEER_ADDRESS, ZIPKIN_PEER_PORT,
		ZIPKIN_LOCAL_ADDRESS, ZIPKIN_LOCAL_PORT,   "service.name"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(key, keys[i]) == 0)
			return true;
	}
	return false;
}

/* What OTLP has fields for, and Zipkin tags. */
static void field_tags(struct json *j, const struct received_span *span)
{
	if (span->status == RECEIVED_ERROR)
		json_string(j, "error", *span->status_text ? span->status_text : "true");
	if (span->status)
		json_string(j, "otel.status_code", span->status == RECEIVED_ERROR ? "ERROR" : "OK");
	if (*span->scope->name)
		json_string(j, "otel.scope.name", span->scope->name);
	if (*span->scope->version)
		json_string(j, "otel.scope.version", span->scope->version);
}

static void tags_write(struct json *j, const struct received_span *span)
{
	const struct received_list *own = &span->attributes;
	const struct received_list *resource = &span->resource->attributes;

	json_object_begin(j, "tags");
	for (size_t i = 0; i < own->count; i++) {
		if (!is_shown(own->data[i].key))
			tag_write(j, &own->data[i]);
	}
	for (size_t i = 0; i < resource->count; i++) {
		const char *key = resource->data[i].key;

		if (!is_shown(key) && !find(span, key))
			tag_write(j, &resource->data[i]);
	}
	field_tags(j, span);
	json_object_end(j);
}

static void ids_write(struct json *j, const struct received_span *span)
{
	char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];

	trace_id_text(trace, span->trace);
	span_id_text(id, span->span_id);
	span_id_text(parent, span->parent_id);
	json_string(j, "traceId", span->trace.high ? trace : trace + 16);
	if (span->parent_id)
		json_string(j, "parentId", parent);
	json_string(j, "id", id);
}

void zipkin_span_write(struct json *j, const struct received_span *span)
{
	static const char *const kinds[] = {[RECEIVED_SERVER] = "SERVER",
					    [RECEIVED_CLIENT] = "CLIENT",
					    [RECEIVED_PRODUCER] = "PRODUCER",
					    [RECEIVED_CONSUMER] = "CONSUMER"};
	uint64_t duration_us = received_duration_ns(span) / 1000;

	json_object_begin(j, NULL);
	ids_write(j, span);
	if (span->kind >= RECEIVED_SERVER && span->kind <= RECEIVED_CONSUMER)
		json_string(j, "kind", kinds[span->kind]);
	zipkin_name_write(j, "name", span->name);
	if (span->begin_ns >= 1000)
		json_u64(j, "timestamp", span->begin_ns / 1000);
	/* a duration of 0 is none in Zipkin */
	if (received_duration_ns(span))
		json_u64(j, "duration", duration_us ? duration_us : 1);
	endpoints_write(j, span);
	annotations_write(j, span);
	tags_write(j, span);
	if (find(span, ZIPKIN_DEBUG))
		json_bool(j, "debug", true);
	if (span->shared)
		json_bool(j, "shared", true);
	json_object_end(j);
}

static void link_write(struct json *j, const struct service_link *link)
{
	json_object_begin(j, NULL);
	zipkin_name_write(j, "parent", link->from);
	zipkin_name_write(j, "child", link->to);
	json_u64(j, "callCount", link->calls);
	if (link->errors)
		json_u64(j, "errorCount", link->errors);
	json_object_end(j);
}

void zipkin_links_write(struct json *j, const service_links *links)
{
	json_array_begin(j, NULL);
	for (size_t i = 0; i < links->count; i++)
		link_write(j, &links->data[i]);
	json_array_end(j);
}
