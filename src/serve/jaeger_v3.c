/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jaeger's query API, version 3: spans in OTLP's JSON. Jaeger's page asks it for names and
 * summaries.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/answer.h"
#include "serve/jaeger.h"
#include "serve/jaeger_search.h"
#include "serve/otlp_json.h"
#include "serve/parameters.h"
#include "serve/route.h"

static int error_answer(struct query *q, int status, const char *why)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_object_begin(&j, "error");
	json_s64(&j, "httpCode", status);
	json_string(&j, "message", why);
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : status;
}

static int services_answer(struct query *q)
{
	struct store_operations list = {0};
	int err = store_list(q->source->store, NULL, q->pool, &list, q->e);
	struct json j;

	if (!err) {
		json_init_bytes(&j, q->body);
		json_object_begin(&j, NULL);
		json_array_begin_lines(&j, "services");
		for (size_t i = 0; i < list.count; i++) {
			if (!i || strcmp(list.data[i].service, list.data[i - 1].service) != 0)
				json_string(&j, NULL, list.data[i].service);
		}
		json_array_end(&j);
		json_object_end(&j);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&list);
	return err;
}

static void operation_write(struct json *j, const struct store_operation *operation)
{
	unsigned int kind = operation->kind ? operation->kind : RECEIVED_INTERNAL;

	json_object_begin(j, NULL);
	json_string(j, "name", operation->name);
	json_string(j, "spanKind", received_kind_name(kind));
	json_object_end(j);
}

static int operations_answer(struct query *q)
{
	const char *service = query_value(q, "service"), *kind = query_value(q, "spanKind");
	struct store_operations list = {0};
	struct json j;
	int err;

	if (!service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "malformed parameter service: "
				    "a name is needed");
	kind = kind ? kind : query_value(q, "span_kind");
	err = store_list(q->source->store, service, q->pool, &list, q->e);
	if (!err) {
		json_init_bytes(&j, q->body);
		json_object_begin(&j, NULL);
		json_array_begin_lines(&j, "operations");
		for (size_t i = 0; i < list.count; i++) {
			if (!kind || strcmp(kind, received_kind_name(list.data[i].kind)) == 0)
				operation_write(&j, &list.data[i]);
		}
		json_array_end(&j);
		json_object_end(&j);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&list);
	return err;
}

/* All traces of an answer are one list of resources. */
static int batch_answer(struct query *q, const struct received_batch *batch)
{
	struct json j;

	if (!batch->count)
		return error_answer(q, MHD_HTTP_NOT_FOUND, "No traces found");
	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_object_begin(&j, "result");
	otlp_json_write(&j, batch);
	json_object_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

static int trace_answer(struct query *q)
{
	struct received_batch batch = {0};
	struct trace_id id;
	int err;

	if (!trace_id_parse(q->word, &id))
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "malformed parameter trace_id: 1 to 32 hex digits are needed");
	err = trace_find(q, id, &batch);
	if (!err || err == -ENOENT)
		err = batch_answer(q, &batch);
	vec_free(&batch);
	return err;
}

/* Searches, and hands the spans of the traces that were found to `answer`. */
static int search_answer(struct query *q,
			 int (*answer)(struct query *q, const struct received_batch *batch))
{
	struct jaeger_search search;
	const char *wrong = jaeger_v3_search_read(q, &search);
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	int err;

	if (wrong)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, wrong);
	err = store_search(q->source->store, &search.query, &ids, q->e);
	err = err ? err : traces_joined(q, &ids, &batch);
	if (!err) {
		err = jaeger_batch_sort(&batch, &ids);
		err = err ? err : answer(q, &batch);
	}
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static int traces_answer(struct query *q)
{
	return search_answer(q, batch_answer);
}

static int summaries_write(struct query *q, const struct received_batch *batch)
{
	struct json j;
	int err = 0;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_array_begin_lines(&j, "summaries");
	for (size_t first = 0, end; first < batch->count && !err; first = end) {
		for (end = first + 1; end < batch->count; end++) {
			if (!trace_id_equals(batch->data[first].trace, batch->data[end].trace))
				break;
		}
		err = jaeger_summary_write(&j, &batch->data[first], end - first);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
}

static int summaries_answer(struct query *q)
{
	return search_answer(q, summaries_write);
}

/* A parameter that is a time; false: it is missing or none. */
static bool time_read(const struct query *q, const char *name, const char *older, uint64_t *time_ns)
{
	const char *value = query_value(q, name);

	value = value ? value : query_value(q, older);
	return value && time_parse(value, time_ns);
}

static void edge_write(struct json *j, const struct store_sum *edge)
{
	char calls[24];

	snprintf(calls, sizeof(calls), "%" PRIu64, edge->count);
	json_object_begin(j, NULL);
	json_string(j, "parent", edge->service);
	json_string(j, "child", edge->operation);
	json_string(j, "callCount", calls);
	json_object_end(j);
}

static int dependencies_answer(struct query *q)
{
	struct store_sums edges = {0};
	struct store_range range;
	struct json j;
	int err;

	if (!time_read(q, "startTime", "start_time", &range.from_ns) ||
	    !time_read(q, "endTime", "end_time", &range.to_ns) || range.from_ns >= range.to_ns)
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "startTime and a later endTime are required, in RFC 3339");
	err = store_edges(q->source->store, &range, q->pool, &edges, q->e);
	if (!err) {
		json_init_bytes(&j, q->body);
		json_object_begin(&j, NULL);
		json_array_begin(&j, "dependencies");
		for (size_t i = 0; i < edges.count; i++) {
			if (edges.data[i].count)
				edge_write(&j, &edges.data[i]);
		}
		json_array_end(&j);
		json_object_end(&j);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	store_sums_free(&edges);
	return err;
}

const struct route jaeger_v3_routes[] = {{"/api/v3/services", services_answer},
					 {"/api/v3/operations", operations_answer},
					 {"/api/v3/traces", traces_answer},
					 {"/api/v3/traces/*", trace_answer},
					 {"/api/v3/trace-summaries", summaries_answer},
					 {"/api/v3/dependencies", dependencies_answer},
					 {0}};
