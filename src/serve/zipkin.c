/* SPDX-License-Identifier: Apache-2.0 */
/* Zipkin's query API, version 2. Its errors are lines of text. */
#include "serve/zipkin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/answer.h"
#include "serve/links.h"
#include "serve/route.h"
#include "serve/zipkin_about.h"
#include "serve/zipkin_search.h"

#define LINKED_TRACES_MAX 1000 /* the newest, of which links and remote services are told */
#define IDS_MAX 1000
#define TEXT_TYPE "text/plain; charset=utf-8"

static int error_answer(struct query *q, int status, const char *why)
{
	q->type = TEXT_TYPE;
	bytes_put(q->body, why, strlen(why));
	bytes_put_u8(q->body, '\n');
	return status;
}

static int text_compare(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

typedef VEC(const char *) name_list;

/* Writes an array of names, each once, and frees the list. */
static int names_write(struct query *q, name_list *names)
{
	struct json j;

	if (names->count)
		qsort(names->data, names->count, sizeof(*names->data), text_compare);
	json_init_bytes(&j, q->body);
	json_array_begin(&j, NULL);
	for (size_t i = 0; i < names->count; i++) {
		if (!i || strcasecmp(names->data[i], names->data[i - 1]) != 0)
			zipkin_name_write(&j, NULL, names->data[i]);
	}
	json_array_end(&j);
	vec_free(names);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

/* Names of services, or of the spans of a service in any case. */
static int operations_answer(struct query *q, const char *service)
{
	struct store_operations list = {0};
	name_list names = {0};
	int err = store_list(q->source->store, NULL, q->pool, &list, q->e);

	for (size_t i = 0; i < list.count && !err; i++) {
		if (!service)
			err = vec_push(&names, list.data[i].service);
		else if (strcasecmp(list.data[i].service, service) == 0 && *list.data[i].name)
			err = vec_push(&names, list.data[i].name);
	}
	vec_free(&list);
	if (!err)
		return names_write(q, &names);
	vec_free(&names);
	return err;
}

static int services_answer(struct query *q)
{
	return operations_answer(q, NULL);
}

static int spans_answer(struct query *q)
{
	const char *service = query_value(q, "serviceName");

	if (!service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "serviceName is required");
	return operations_answer(q, service);
}

/* The whole traces that a search finds. */
static int traces_find(struct query *q, const struct store_query *search, struct store_ids *ids,
		       struct received_batch *batch)
{
	int err = store_search(q->source->store, search, ids, q->e);

	return err ? err : traces_joined(q, ids, batch);
}

static int remote_answer(struct query *q)
{
	struct store_query search = {.service = query_value(q, "serviceName"),
				     .kind = -1,
				     .is_loose = true,
				     .limit = LINKED_TRACES_MAX};
	const char *const marks[] = {"peer.service"};
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	name_list names = {0};
	int err;

	if (!search.service)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "serviceName is required");
	search.marks = marks;
	search.marks_count = 1;
	err = traces_find(q, &search, &ids, &batch);
	for (size_t i = 0; i < batch.count && !err; i++) {
		const char *remote = remote_service(&batch.data[i]);

		if (remote && strcasecmp(batch.data[i].resource->service, search.service) == 0)
			err = vec_push(&names, remote);
	}
	if (!err)
		err = names_write(q, &names);
	vec_free(&names);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static void trace_write(struct json *j, const struct received_batch *batch, struct trace_id id)
{
	json_array_begin_lines(j, NULL);
	for (size_t i = 0; i < batch->count; i++) {
		if (trace_id_equals(batch->data[i].trace, id))
			zipkin_span_write(j, &batch->data[i]);
	}
	json_array_end(j);
}

static bool has_trace(const struct received_batch *batch, struct trace_id id)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (trace_id_equals(batch->data[i].trace, id))
			return true;
	}
	return false;
}

/* An array of traces. */
static int traces_write(struct query *q, const struct received_batch *batch,
			const struct store_ids *ids)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_array_begin_lines(&j, NULL);
	for (size_t i = 0; i < ids->count; i++) {
		if (has_trace(batch, ids->data[i]))
			trace_write(&j, batch, ids->data[i]);
	}
	json_array_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

static int trace_answer(struct query *q)
{
	struct received_batch batch = {0};
	struct trace_id id;
	char why[80], text[TRACE_ID_BYTES];
	struct json j;
	int err;

	if (!trace_id_parse(q->word, &id))
		return error_answer(q, MHD_HTTP_BAD_REQUEST,
				    "a trace id should be 1 to 32 hex digits");
	err = trace_find(q, id, &batch);
	if (err == -ENOENT) {
		trace_id_text(text, id);
		snprintf(why, sizeof(why), "%s not found", id.high ? text : text + 16);
		err = error_answer(q, MHD_HTTP_NOT_FOUND, why);
	} else if (!err) {
		json_init_bytes(&j, q->body);
		trace_write(&j, &batch, id);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&batch);
	return err;
}

static bool has_id(const struct store_ids *ids, struct trace_id id)
{
	for (size_t i = 0; i < ids->count; i++) {
		if (trace_id_equals(ids->data[i], id))
			return true;
	}
	return false;
}

/* Reads "ID,ID,...". 0, -EINVAL with the reason, or -ENOMEM. */
static int ids_read(const char *text, struct store_ids *ids, const char **wrong)
{
	do {
		size_t n = strcspn(text, ",");
		struct trace_id id;
		char word[40];

		snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : 0, text);
		if (!trace_id_parse(word, &id))
			*wrong = "traceIds should be ids of 1 to 32 hex digits, with commas";
		else if (has_id(ids, id))
			*wrong = "redundant traceId";
		else if (ids->count == IDS_MAX)
			*wrong = "traceIds are more than 1000";
		if (*wrong)
			return -EINVAL;
		if (vec_push(ids, id))
			return -ENOMEM;
		text += n;
	} while (*text++ == ',');
	if (ids->count > 1)
		return 0;
	*wrong = "Use /api/v2/trace/{traceId} endpoint to retrieve a single trace";
	return -EINVAL;
}

/* Traces that are not there are left out. */
static int many_answer(struct query *q)
{
	const char *text = query_value(q, "traceIds"), *wrong = NULL;
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	int err;

	if (!text)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "traceIds parameter is empty");
	err = ids_read(text, &ids, &wrong);
	if (wrong)
		err = error_answer(q, MHD_HTTP_BAD_REQUEST, wrong);
	else if (!err)
		err = traces_joined(q, &ids, &batch);
	if (!err)
		err = traces_write(q, &batch, &ids);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static int search_answer(struct query *q, const struct store_query *search)
{
	struct received_batch batch = {0};
	struct store_ids ids = {0};
	int err = traces_find(q, search, &ids, &batch);

	err = err ? err : traces_write(q, &batch, &ids);
	vec_free(&ids);
	vec_free(&batch);
	return err;
}

static int traces_answer(struct query *q)
{
	struct zipkin_search search;
	const char *wrong = zipkin_search_read(q, &search);

	return wrong ? error_answer(q, MHD_HTTP_BAD_REQUEST, wrong)
		     : search_answer(q, &search.query);
}

/* Calls between services that both sent spans, from the sums of the store. */
static int edges_add(struct query *q, const struct store_query *search, service_links *links)
{
	const struct store_range range = {search->begin_from_ns, search->begin_to_ns + 1};
	struct store_sums edges = {0};
	int err = store_edges(q->source->store, &range, q->pool, &edges, q->e);

	for (size_t i = 0; i < edges.count && !err; i++) {
		const struct store_sum *edge = &edges.data[i];
		const struct service_link link = {edge->service, edge->operation, edge->count,
						  edge->errors};

		if (edge->count)
			err = vec_push(links, link);
	}
	store_sums_free(&edges);
	links_fold(links, true);
	return err;
}

static bool has_link(const service_links *links, size_t count, const struct service_link *link)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(links->data[i].from, link->from) == 0 &&
		    strcasecmp(links->data[i].to, link->to) == 0)
			return true;
	}
	return false;
}

/* Adds calls to services that send no spans, of which only their callers tell. */
static int remotes_add(struct query *q, const struct store_query *range,
		       struct received_batch *batch, service_links *links)
{
	const char *const marks[] = {"peer.service"};
	struct store_query search = *range;
	service_links more = {0};
	struct store_ids ids = {0};
	size_t known = links->count;
	int err;

	search.marks = marks;
	search.marks_count = 1;
	err = traces_find(q, &search, &ids, batch);
	err = err ? err : links_find(batch, true, &more);
	for (size_t i = 0; i < more.count && !err; i++) {
		if (!has_link(links, known, &more.data[i]))
			err = vec_push(links, more.data[i]);
	}
	links_fold(links, true);
	vec_free(&more);
	vec_free(&ids);
	return err;
}

static int dependencies_answer(struct query *q)
{
	struct store_query search = {.kind = -1, .is_loose = true, .limit = LINKED_TRACES_MAX};
	const char *wrong = query_value(q, "endTs") ? zipkin_window_read(q, &search)
						    : "endTs is required";
	struct received_batch batch = {0};
	service_links links = {0};
	struct json j;
	int err;

	if (wrong)
		return error_answer(q, MHD_HTTP_BAD_REQUEST, wrong);
	err = edges_add(q, &search, &links);
	err = err ? err : remotes_add(q, &search, &batch, &links);
	if (!err) {
		json_init_bytes(&j, q->body);
		zipkin_links_write(&j, &links);
		err = json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
	}
	vec_free(&links);
	vec_free(&batch);
	return err;
}

/* There are no keys for which values are proposed. */
static int nothing_answer(struct query *q)
{
	bytes_put(q->body, "[]\n", 3);
	return MHD_HTTP_OK;
}

static int values_answer(struct query *q)
{
	if (!query_value(q, "key"))
		return error_answer(q, MHD_HTTP_BAD_REQUEST, "key is required");
	return nothing_answer(q);
}

/* Each is also under /zipkin/, where the page asks. */
#define BOTH(path, answer)                                                                         \
	{path, answer},                                                                            \
	{                                                                                          \
		"/zipkin" path, answer                                                             \
	}

const struct route zipkin_routes[] = {BOTH("/api/v2/services", services_answer),
				      BOTH("/api/v2/spans", spans_answer),
				      BOTH("/api/v2/remoteServices", remote_answer),
				      BOTH("/api/v2/traces", traces_answer),
				      BOTH("/api/v2/trace/*", trace_answer),
				      BOTH("/api/v2/traceMany", many_answer),
				      BOTH("/api/v2/dependencies", dependencies_answer),
				      BOTH("/api/v2/autocompleteKeys", nothing_answer),
				      BOTH("/api/v2/autocompleteValues", values_answer),
				      BOTH("/config.json", zipkin_config_answer),
				      BOTH("/health", zipkin_health_answer),
				      BOTH("/info", zipkin_info_answer),
				      {0}};
