/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/zipkin.h"

#include <errno.h>
#include <string.h>

#include "wire/otlp.h"
#include "wire/zipkin_reading.h"

#define JSON_DEPTH_MAX 64 /* what is passed over may be nested */
#define US_MAX (UINT64_MAX / 1000)

static void value_count(struct reading *r)
{
	if (++r->values > OTLP_VALUES_MAX)
		json_fail(&r->json, "it has too many tags and annotations");
}

/* Reads 1 to `most` hex digits in lower case, which must not all be zeros. */
static struct trace_id id_read(struct reading *r, size_t most, const char *wrong)
{
	struct trace_id id = {0};
	struct json_text text;

	json_string_read(&r->json, &text);
	if (text.bytes < 1 || text.bytes > most)
		json_fail(&r->json, wrong);
	for (size_t i = 0; i < text.bytes; i++) {
		char c = text.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
			json_fail(&r->json, wrong);
			break;
		}
		id.high = id.high << 4 | id.low >> 60;
		id.low = id.low << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return id;
}

static void trace_read(struct reading *r)
{
	static const char wrong[] = "traceId must be 1 to 32 lower-case hex digits, not all zeros";

	r->span.trace = id_read(r, 32, wrong);
	r->has_trace = r->span.trace.high | r->span.trace.low;
	if (!r->has_trace)
		json_fail(&r->json, wrong);
}

static void span_id_read(struct reading *r)
{
	static const char wrong[] = "id must be 1 to 16 lower-case hex digits, not all zeros";

	r->span.span_id = id_read(r, 16, wrong).low;
	r->has_id = r->span.span_id != 0;
	if (!r->has_id)
		json_fail(&r->json, wrong);
}

/* One of zeros is none. */
static void parent_read(struct reading *r)
{
	r->span.parent_id = id_read(r, 16, "parentId must be 1 to 16 lower-case hex digits").low;
}

static void name_read(struct reading *r)
{
	struct json_text text;

	json_string_read(&r->json, &text);
	r->span.name = zipkin_text_keep(r, text);
}

static void kind_read(struct reading *r)
{
	static const char *const names[] = {[RECEIVED_SERVER] = "SERVER",
					    [RECEIVED_CLIENT] = "CLIENT",
					    [RECEIVED_PRODUCER] = "PRODUCER",
					    [RECEIVED_CONSUMER] = "CONSUMER"};
	struct json_text text;

	json_string_read(&r->json, &text);
	for (uint8_t kind = RECEIVED_SERVER; kind <= RECEIVED_CONSUMER; kind++) {
		if (json_text_is(text, names[kind])) {
			r->span.kind = kind;
			return;
		}
	}
	json_fail(&r->json, "kind must be CLIENT, SERVER, PRODUCER or CONSUMER");
}

static void timestamp_read(struct reading *r)
{
	r->span.begin_ns = json_u64_read(&r->json, US_MAX) * 1000;
}

static void duration_read(struct reading *r)
{
	r->duration_ns = json_u64_read(&r->json, US_MAX) * 1000;
}

static void endpoint_read(struct reading *r, struct endpoint *endpoint)
{
	struct json_text key;

	*endpoint = (struct endpoint){0};
	json_object_enter(&r->json);
	while (json_key_next(&r->json, &key)) {
		if (json_null_read(&r->json))
			continue;
		if (json_text_is(key, "serviceName"))
			json_string_read(&r->json, &endpoint->service);
		else if (json_text_is(key, "ipv4"))
			json_string_read(&r->json, &endpoint->ipv4);
		else if (json_text_is(key, "ipv6"))
			json_string_read(&r->json, &endpoint->ipv6);
		else if (json_text_is(key, "port"))
			endpoint->port = json_u64_read(&r->json, 65535);
		else
			json_skip(&r->json);
	}
}

static void local_read(struct reading *r)
{
	endpoint_read(r, &r->local);
}

static void remote_read(struct reading *r)
{
	endpoint_read(r, &r->remote);
}

static void annotation_read(struct reading *r)
{
	struct received_event event = {.name = ""};
	struct json_text key, text;

	value_count(r);
	json_object_enter(&r->json);
	while (json_key_next(&r->json, &key)) {
		if (json_text_is(key, "timestamp")) {
			event.time_ns = json_u64_read(&r->json, US_MAX) * 1000;
		} else if (json_text_is(key, "value")) {
			json_string_read(&r->json, &text);
			event.name = zipkin_text_keep(r, text);
		} else {
			json_skip(&r->json);
		}
	}
	if (r->pool && vec_push(&r->events, event))
		r->no_memory = true;
}

static void annotations_read(struct reading *r)
{
	json_array_enter(&r->json);
	while (json_item_next(&r->json))
		annotation_read(r);
}

static bool is_text(struct json_text text, const char *wanted)
{
	return !text.is_escaped && json_text_is(text, wanted);
}

/* Tags that stand for fields of OTLP. False: it is another. */
static bool field_tag(struct reading *r, struct json_text key, struct json_text value)
{
	if (json_text_is(key, "error") && !is_text(value, "false")) {
		r->span.status = RECEIVED_ERROR;
		if (value.bytes && !is_text(value, "true") && !*r->span.status_text)
			r->span.status_text = zipkin_text_keep(r, value);
	} else if (json_text_is(key, "otel.status_code") && is_text(value, "ERROR")) {
		r->span.status = RECEIVED_ERROR;
	} else if (json_text_is(key, "otel.status_code") && is_text(value, "OK")) {
		r->span.status = r->span.status ? r->span.status : RECEIVED_OK;
	} else if (json_text_is(key, "otel.status_description")) {
		r->span.status_text = zipkin_text_keep(r, value);
	} else if (json_text_is(key, "otel.scope.name")) {
		r->scope.name = zipkin_text_keep(r, value);
	} else if (json_text_is(key, "otel.scope.version")) {
		r->scope.version = zipkin_text_keep(r, value);
	} else {
		return false;
	}
	return true;
}

static void tags_read(struct reading *r)
{
	struct attribute tag = {.type = VALUE_STRING};
	struct json_text key, value;

	json_object_enter(&r->json);
	while (json_key_next(&r->json, &key)) {
		json_string_read(&r->json, &value);
		value_count(r);
		if (!r->pool || field_tag(r, key, value))
			continue;
		tag.key = zipkin_text_keep(r, key);
		tag.string = zipkin_text_keep(r, value);
		zipkin_tag_add(r, &tag);
	}
}

static void debug_read(struct reading *r)
{
	const struct attribute tag = {.key = ZIPKIN_DEBUG, .type = VALUE_BOOLEAN, .integer = 1};

	if (json_boolean_read(&r->json))
		zipkin_tag_add(r, &tag);
}

static void shared_read(struct reading *r)
{
	r->span.shared = json_boolean_read(&r->json);
}

static const struct {
	const char *name;
	void (*read)(struct reading *r);
} keys[] = {{"traceId", trace_read},
	    {"id", span_id_read},
	    {"parentId", parent_read},
	    {"name", name_read},
	    {"kind", kind_read},
	    {"timestamp", timestamp_read},
	    {"duration", duration_read},
	    {"localEndpoint", local_read},
	    {"remoteEndpoint", remote_read},
	    {"annotations", annotations_read},
	    {"tags", tags_read},
	    {"debug", debug_read},
	    {"shared", shared_read}};

static void fields_read(struct reading *r)
{
	struct json_text key;

	json_object_enter(&r->json);
	while (json_key_next(&r->json, &key)) {
		size_t i = 0;

		if (json_null_read(&r->json))
			continue;
		while (i < sizeof(keys) / sizeof(*keys) && !json_text_is(key, keys[i].name))
			i++;
		if (i < sizeof(keys) / sizeof(*keys))
			keys[i].read(r);
		else
			json_skip(&r->json);
	}
}

static void span_read(struct reading *r)
{
	r->span = (struct received_span){.name = "", .trace_state = "", .status_text = ""};
	r->scope = (struct received_scope){.name = "", .version = ""};
	r->local = r->remote = (struct endpoint){0};
	r->has_trace = r->has_id = false;
	r->duration_ns = 0;
	r->tags.count = r->events.count = 0;
	fields_read(r);
	if (!r->has_trace)
		json_fail(&r->json, "a span has no traceId");
	if (!r->has_id)
		json_fail(&r->json, "a span has no id");
	r->spans++;
	if (r->pool && !r->json.wrong)
		zipkin_span_add(r);
}

static int request_read(struct reading *r, const void *data, size_t bytes, struct error *e)
{
	int err;

	json_reader_init(&r->json, data, bytes, JSON_DEPTH_MAX);
	json_array_enter(&r->json);
	while (!r->no_memory && json_item_next(&r->json))
		span_read(r);
	err = r->no_memory ? -ENOMEM : json_finish(&r->json);
	vec_free(&r->tags);
	vec_free(&r->events);
	if (err == -ENOMEM)
		return error_set(e, ENOMEM, "cannot decode a Zipkin request");
	if (err)
		return error_say(e, EPROTO, "malformed Zipkin request: span %llu, at byte %zu: %s",
				 (unsigned long long)r->spans, (size_t)(r->json.at - r->json.begin),
				 r->json.wrong);
	return 0;
}

int zipkin_walk(const void *data, size_t bytes, uint64_t *spans, struct error *e)
{
	struct reading r = {0};
	int err = request_read(&r, data, bytes, e);

	*spans = r.spans;
	return err;
}

int zipkin_decode(const void *data, size_t bytes, struct pool *pool, struct received_batch *out,
		  struct error *e)
{
	struct reading r = {.pool = pool, .out = out};
	size_t before = out->count;
	int err = request_read(&r, data, bytes, e);

	if (err)
		out->count = before;
	return err;
}
