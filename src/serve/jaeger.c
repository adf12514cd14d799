/* SPDX-License-Identifier: Apache-2.0 */
/* Jaeger's query API, its first generation: what its page and Grafana ask. */
#include "serve/jaeger.h"

#include <errno.h>

#include "base/clock.h"
#include "serve/answer.h"
#include "serve/jaeger_search.h"
#include "serve/parameters.h"
#include "serve/route.h"

#define DAY_MS 86400000u

/* Each answer has this envelope; `data` comes first. */
static void envelope_begin(struct json *j, struct query *q)
{
	json_init_bytes(j, q->body);
	json_object_begin(j, NULL);
	json_array_begin_lines(j, "data");
}

static int envelope_end(struct json *j, size_t total)
{
	json_array_end(j);
	json_u64(j, "total", total);
	json_u64(j, "limit", 0);
	json_u64(j, "offset", 0);
	json_null(j, "errors");
	json_object_end(j);
	return json_end(j) ? -ENOMEM : MHD_HTTP_OK;
}

int jaeger_error(struct query *q, int status, const char *why)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_null(&j, "data");
	json_u64(&j, "total", 0);
	json_u64(&j, "limit", 0);
	json_u64(&j, "offset", 0);
	json_array_begin(&j, "errors");
	json_object_begin(&j, NULL);
	json_s64(&j, "code", status);
	json_string(&j, "msg", why);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : status;
}

static int services_answer(struct query *q)
{
	struct store_operations list = {0};
	int err = store_list(q->source->store, NULL, q->pool, &list, q->e);
	size_t count = 0;
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			if (i && strcmp(list.data[i].service, list.data[i - 1].service) == 0)
				continue;
			json_string(&j, NULL, list.data[i].service);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

static int names_answer(struct query *q)
{
	struct store_operations list = {0};
	int err = store_list(q->source->store, q->word, q->pool, &list, q->e);
	size_t count = 0;
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			if (i && strcmp(list.data[i].name, list.data[i - 1].name) == 0)
				continue;
			json_string(&j, NULL, list.data[i].name);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

static int operations_answer(struct query *q)
{
	const char *service = query_value(q, "service"), *kind = query_value(q, "spanKind");
	struct store_operations list = {0};
	size_t count = 0;
	struct json j;
	int err;

	if (!service)
		return jaeger_error(q, MHD_HTTP_BAD_REQUEST, "parameter 'service' is required");
	err = store_list(q->source->store, service, q->pool, &list, q->e);
	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < list.count; i++) {
			const char *name = received_kind_name(list.data[i].kind);

			if (kind && strcmp(kind, name) != 0)
				continue;
			json_object_begin(&j, NULL);
			json_string(&j, "name", list.data[i].name);
			json_string(&j, "spanKind", list.data[i].kind ? name : "");
			json_object_end(&j);
			count++;
		}
		err = envelope_end(&j, count);
	}
	vec_free(&list);
	return err;
}

/* The traces of these ids, whole. */
static int ids_answer(struct query *q, const struct store_ids *ids)
{
	struct received_batch batch = {0};
	int err = traces_joined(q, ids, &batch);
	struct json j;

	if (!err) {
		envelope_begin(&j, q);
		err = jaeger_traces_write(&j, &batch, ids);
		err = err ? err : envelope_end(&j, 0);
	}
	vec_free(&batch);
	return err;
}

static int trace_answer(struct query *q)
{
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	struct trace_id id;
	struct json j;
	int err;

	if (!trace_id_parse(q->word, &id))
		return jaeger_error(q, MHD_HTTP_BAD_REQUEST,
				    "malformed trace ID: 1 to 32 hex digits are needed");
	err = trace_find(q, id, &batch);
	if (err == -ENOENT) {
		err = jaeger_error(q, MHD_HTTP_NOT_FOUND, "trace not found");
	} else if (!err) {
		ids = (struct store_ids){&id, 1, 1};
		envelope_begin(&j, q);
		err = jaeger_traces_write(&j, &batch, &ids);
		err = err ? err : envelope_end(&j, 0);
	}
	vec_free(&batch);
	return err;
}

struct id_reading {
	struct store_ids ids;
	bool wrong;
};

static enum MHD_Result id_read(void *arg, enum MHD_ValueKind kind, const char *key,
			       const char *value)
{
	struct id_reading *r = arg;
	struct trace_id id;

	if (strcmp(key, "traceID") != 0)
		return MHD_YES;
	r->wrong = !value || !trace_id_parse(value, &id) || r->ids.count == JAEGER_TRACES_MAX ||
		   vec_push(&r->ids, id);
	return r->wrong ? MHD_NO : MHD_YES;
}

static int search_answer(struct query *q, const struct store_query *search)
{
	struct store_ids ids = {0};
	int err = store_search(q->source->store, search, &ids, q->e);

	err = err ? err : ids_answer(q, &ids);
	vec_free(&ids);
	return err;
}

static int traces_answer(struct query *q)
{
	struct jaeger_search search;
	struct id_reading named = {0};
	const char *wrong;
	int err;

	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, id_read, &named);
	if (named.ids.count || named.wrong) {
		err = named.wrong ? jaeger_error(q, MHD_HTTP_BAD_REQUEST, "malformed trace ID")
				  : ids_answer(q, &named.ids);
		vec_free(&named.ids);
		return err;
	}
	wrong = jaeger_search_read(q, &search);
	return wrong ? jaeger_error(q, MHD_HTTP_BAD_REQUEST, wrong)
		     : search_answer(q, &search.query);
}

/* "endTs" and "lookback", in milliseconds. NULL, or what is wrong. */
static const char *window_read(const struct query *q, struct store_range *range)
{
	const uint64_t most = UINT64_MAX / 1000000 - 1;
	const char *end = query_value(q, "endTs"), *lookback = query_value(q, "lookback");
	uint64_t end_ms = clock_read_ns(CLOCK_REALTIME) / 1000000, lookback_ms = DAY_MS;

	if (end && !number_parse(end, most, &end_ms))
		return "unable to parse param 'endTs': milliseconds since 1970";
	if (lookback && !number_parse(lookback, most, &lookback_ms))
		return "unable to parse param 'lookback': milliseconds";
	range->to_ns = end_ms * 1000000 + 1000000;
	if (lookback_ms < end_ms)
		range->from_ns = (end_ms - lookback_ms) * 1000000;
	return NULL;
}

static int dependencies_answer(struct query *q)
{
	struct store_range range = {0};
	const char *service = query_value(q, "service"), *wrong = window_read(q, &range);
	struct store_sums edges = {0};
	size_t count = 0;
	struct json j;
	int err;

	if (wrong)
		return jaeger_error(q, MHD_HTTP_BAD_REQUEST, wrong);
	err = store_edges(q->source->store, &range, q->pool, &edges, q->e);
	if (!err) {
		envelope_begin(&j, q);
		for (size_t i = 0; i < edges.count; i++) {
			const struct store_sum *edge = &edges.data[i];

			if (!edge->count || (service && strcmp(service, edge->service) != 0 &&
					     strcmp(service, edge->operation) != 0))
				continue;
			json_object_begin(&j, NULL);
			json_string(&j, "parent", edge->service);
			json_string(&j, "child", edge->operation);
			json_u64(&j, "callCount", edge->count);
			json_object_end(&j);
			count++;
		}
		err = envelope_end(&j, count);
	}
	store_sums_free(&edges);
	return err;
}

const struct route jaeger_routes[] = {{"/api/services", services_answer},
				      {"/api/services/*/operations", names_answer},
				      {"/api/operations", operations_answer},
				      {"/api/traces", traces_answer},
				      {"/api/traces/*", trace_answer},
				      {"/api/dependencies", dependencies_answer},
				      {0}};
