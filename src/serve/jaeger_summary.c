/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "serve/jaeger.h"
#include "serve/route.h"

struct service_counts {
	const char *name;
	uint64_t spans, errors;
};

struct summary {
	const struct received_span *root; /* the first one without a parent; NULL: none */
	uint64_t begin_ns, end_ns, errors, orphans;
	struct map ids; /* of its spans */
	VEC(struct service_counts) services;
};

static int services_compare(const void *a, const void *b)
{
	const struct service_counts *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int service_add(struct summary *s, const struct received_span *span)
{
	bool is_error = span->status == RECEIVED_ERROR;
	const char *name = span->resource->service;

	for (size_t i = 0; i < s->services.count; i++) {
		struct service_counts *service = &s->services.data[i];

		if (strcmp(service->name, name) != 0)
			continue;
		service->spans++;
		service->errors += is_error;
		return 0;
	}
	return vec_push(&s->services, (struct service_counts){name, 1, is_error});
}

static int span_add(struct summary *s, const struct received_span *span)
{
	if (span->begin_ns < s->begin_ns)
		s->begin_ns = span->begin_ns;
	if (span->end_ns > s->end_ns)
		s->end_ns = span->end_ns;
	s->errors += span->status == RECEIVED_ERROR;
	if (span->parent_id)
		s->orphans += !map_get(&s->ids, span->parent_id);
	else if (!s->root || span->begin_ns < s->root->begin_ns)
		s->root = span;
	return service_add(s, span);
}

static void count_write(struct json *j, const char *key, uint64_t count)
{
	if (count)
		json_u64(j, key, count);
}

static void time_write(struct json *j, const char *key, uint64_t time_ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, time_ns);
	json_string(j, key, text);
}

static void summary_write(struct json *j, const struct summary *s, struct trace_id id, size_t count)
{
	char trace[TRACE_ID_BYTES];

	trace_id_text(trace, id);
	json_object_begin(j, NULL);
	json_string(j, "traceId", trace);
	if (s->root) {
		json_string(j, "rootServiceName", s->root->resource->service);
		json_string(j, "rootOperationName", s->root->name);
	}
	time_write(j, "minStartTimeUnixNano", s->begin_ns);
	time_write(j, "maxEndTimeUnixNano", s->end_ns);
	json_u64(j, "spanCount", count);
	count_write(j, "errorSpanCount", s->errors);
	count_write(j, "orphanSpanCount", s->orphans);
	json_array_begin(j, "services");
	for (size_t i = 0; i < s->services.count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "name", s->services.data[i].name);
		json_u64(j, "spanCount", s->services.data[i].spans);
		count_write(j, "errorSpanCount", s->services.data[i].errors);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

int jaeger_summary_write(struct json *j, const struct received_span *spans, size_t count)
{
	struct summary s = {.begin_ns = UINT64_MAX};
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = map_put(&s.ids, spans[i].span_id, PRESENT);
	for (size_t i = 0; i < count && !err; i++)
		err = span_add(&s, &spans[i]);
	if (!err && s.services.count)
		qsort(s.services.data, s.services.count, sizeof(*s.services.data),
		      services_compare);
	if (!err)
		summary_write(j, &s, spans[0].trace, count);
	map_free(&s.ids);
	vec_free(&s.services);
	return err;
}
