/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between services: a span is called from its parent, if that is of another service. A shared
 * span is called from the other half of its id. A call to a service that sent no span is
 * known from its caller alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "serve/zipkin.h"

struct service_link {
	const char *from, *to;
	bool is_error;
};

struct linking {
	const struct received_batch *batch;
	struct map callees, others; /* spans by their ids: servers and consumers; others */
	bool *called;		    /* of each span: a link begins there */
	VEC(struct service_link) links;
};

static bool is_callee(const struct received_span *span)
{
	return span->kind == RECEIVED_SERVER || span->kind == RECEIVED_CONSUMER;
}

static uint64_t key_of(const struct received_span *span, uint64_t id)
{
	return hash_pair(hash_pair(span->trace.high, span->trace.low), id);
}

/* NULL: there is none. */
static const struct received_span *parent_find(const struct linking *l,
					       const struct received_span *span)
{
	const struct received_span *callee, *other = NULL;

	if (is_callee(span))
		other = map_get(&l->others, key_of(span, span->span_id));
	if (other || !span->parent_id)
		return other;
	callee = map_get(&l->callees, key_of(span, span->parent_id));
	other = map_get(&l->others, key_of(span, span->parent_id));
	/* a callee is called by a client; what else there is runs in the server */
	if (is_callee(span))
		return other ? other : callee;
	return callee ? callee : other;
}

static int parent_link(struct linking *l, size_t i)
{
	const struct received_span *span = &l->batch->data[i], *parent = parent_find(l, span);
	struct service_link link = {.to = span->resource->service,
				    .is_error = span->status == RECEIVED_ERROR};

	if (!parent)
		return 0;
	link.from = parent->resource->service;
	if (strcasecmp(link.from, link.to) == 0)
		return 0;
	l->called[parent - l->batch->data] = true;
	return vec_push(&l->links, link);
}

/* The service at the other end, which sent no span. */
static int remote_link(struct linking *l, size_t i)
{
	const struct received_span *span = &l->batch->data[i];
	const char *remote = zipkin_remote_service(span);
	struct service_link link = {span->resource->service, remote,
				    span->status == RECEIVED_ERROR};

	if (!remote || l->called[i] ||
	    (span->kind != RECEIVED_CLIENT && span->kind != RECEIVED_PRODUCER))
		return 0;
	return vec_push(&l->links, link);
}

static int links_find(struct linking *l)
{
	int err = 0;

	for (size_t i = 0; i < l->batch->count && !err; i++) {
		struct received_span *span = &l->batch->data[i];

		err = map_put(is_callee(span) ? &l->callees : &l->others,
			      key_of(span, span->span_id), span);
	}
	for (size_t i = 0; i < l->batch->count && !err; i++)
		err = parent_link(l, i);
	for (size_t i = 0; i < l->batch->count && !err; i++)
		err = remote_link(l, i);
	return err;
}

static int link_compare(const void *a, const void *b)
{
	const struct service_link *x = a, *y = b;
	int order = strcasecmp(x->from, y->from);

	return order ? order : strcasecmp(x->to, y->to);
}

/* Writes the sum of equal links, which follow each other. Returns how many they are. */
static size_t link_write(struct json *j, const struct service_link *links, size_t count)
{
	uint64_t errors = 0;
	size_t same = 0;

	while (same < count && link_compare(&links[0], &links[same]) == 0)
		errors += links[same++].is_error;
	json_object_begin(j, NULL);
	zipkin_name_write(j, "parent", links[0].from);
	zipkin_name_write(j, "child", links[0].to);
	json_u64(j, "callCount", same);
	if (errors)
		json_u64(j, "errorCount", errors);
	json_object_end(j);
	return same;
}

int zipkin_links_write(struct json *j, const struct received_batch *batch)
{
	struct linking l = {.batch = batch};
	int err;

	l.called = calloc(batch->count ? batch->count : 1, sizeof(*l.called));
	err = l.called ? links_find(&l) : -ENOMEM;
	if (!err && l.links.count)
		qsort(l.links.data, l.links.count, sizeof(*l.links.data), link_compare);
	json_array_begin(j, NULL);
	for (size_t i = 0; !err && i < l.links.count;)
		i += link_write(j, &l.links.data[i], l.links.count - i);
	json_array_end(j);
	map_free(&l.callees);
	map_free(&l.others);
	vec_free(&l.links);
	free(l.called);
	return err;
}
