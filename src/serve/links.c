/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/map.h"
#include "span/attributes.h"

struct linking {
	const struct received_batch *batch;
	struct map callees, others; /* spans by their ids: servers and consumers; others */
	bool *called;		    /* of each span: a link begins there */
	bool is_caseless;
	service_links *links;
};

const char *remote_service(const struct received_span *span)
{
	const struct attribute *a = attributes_find(span->attributes.data, span->attributes.count,
						    "peer.service");

	return a && a->type == VALUE_STRING && *a->string ? a->string : NULL;
}

/* The order of names in which those that are the same for `l` are equal. */
static int names_compare(const char *a, const char *b, bool is_caseless)
{
	int order = strcasecmp(a, b);

	return order || is_caseless ? order : strcmp(a, b);
}

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
				    .calls = 1,
				    .errors = span->status == RECEIVED_ERROR};

	if (!parent)
		return 0;
	link.from = parent->resource->service;
	if (names_compare(link.from, link.to, l->is_caseless) == 0)
		return 0;
	l->called[parent - l->batch->data] = true;
	return vec_push(l->links, link);
}

/* The service at the other end, which sent no span. */
static int remote_link(struct linking *l, size_t i)
{
	const struct received_span *span = &l->batch->data[i];
	const char *remote = remote_service(span);
	struct service_link link = {span->resource->service, remote, 1,
				    span->status == RECEIVED_ERROR};

	if (!remote || l->called[i] ||
	    (span->kind != RECEIVED_CLIENT && span->kind != RECEIVED_PRODUCER))
		return 0;
	return vec_push(l->links, link);
}

static int calls_find(struct linking *l)
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
	int order = names_compare(x->from, y->from, false);

	return order ? order : names_compare(x->to, y->to, false);
}

static int link_compare_caseless(const void *a, const void *b)
{
	const struct service_link *x = a, *y = b;
	int order = strcasecmp(x->from, y->from);

	return order ? order : strcasecmp(x->to, y->to);
}

void links_fold(service_links *links, bool is_caseless)
{
	int (*compare)(const void *, const void *) = is_caseless ? link_compare_caseless
								 : link_compare;
	size_t kept = 0;

	if (!links->count)
		return;
	qsort(links->data, links->count, sizeof(*links->data), compare);
	for (size_t i = 1; i < links->count; i++) {
		if (compare(&links->data[kept], &links->data[i]) == 0) {
			links->data[kept].calls += links->data[i].calls;
			links->data[kept].errors += links->data[i].errors;
		} else {
			links->data[++kept] = links->data[i];
		}
	}
	links->count = kept + 1;
}

int links_find(const struct received_batch *batch, bool is_caseless, service_links *out)
{
	struct linking l = {.batch = batch, .is_caseless = is_caseless, .links = out};
	int err;

	l.called = calloc(batch->count ? batch->count : 1, sizeof(*l.called));
	err = l.called ? calls_find(&l) : -ENOMEM;
	if (!err)
		links_fold(out, is_caseless);
	map_free(&l.callees);
	map_free(&l.others);
	free(l.called);
	return err;
}
