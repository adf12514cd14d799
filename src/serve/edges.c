/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/edges.h"

#include <stdlib.h>
#include <string.h>

#include "serve/links.h"

/* Whether an exchange below a call tells whom it reaches, and so is the call here. */
static bool exchange_tells(const struct gathered *g, uint32_t at)
{
	for (uint32_t c = g->first[at]; c != GATHER_NONE; c = g->next[c]) {
		const struct received_span *child = &g->batch.data[c];

		if (child->kind == RECEIVED_CLIENT && gather_is_counted(child) &&
		    g->first[c] != GATHER_NONE)
			return true;
	}
	return false;
}

/* The service that a call reaches; NULL: it is not known, or the same one. */
static const char *callee_of(const struct gathered *g, uint32_t at, bool *is_remote)
{
	const struct received_span *span = &g->batch.data[at];
	const char *name = remote_service(span);

	*is_remote = true;
	for (uint32_t c = g->first[at]; c != GATHER_NONE; c = g->next[c]) {
		const struct received_span *child = &g->batch.data[c];

		if (gather_kernel_kind(child) || child->resource == span->resource ||
		    (child->kind != RECEIVED_SERVER && child->kind != RECEIVED_CONSUMER))
			continue;
		*is_remote = false;
		name = child->resource->service;
		break;
	}
	return name && strcmp(name, span->resource->service) != 0 ? name : NULL;
}

static int sample_compare(const void *a, const void *b)
{
	const struct edge_sample *x = a, *y = b;
	int order = strcmp(x->from, y->from);

	return order ? order : strcmp(x->to, y->to);
}

static void samples_fold(edge_samples *samples)
{
	size_t kept = 0;

	if (!samples->count)
		return;
	qsort(samples->data, samples->count, sizeof(*samples->data), sample_compare);
	for (size_t i = 1; i < samples->count; i++) {
		struct edge_sample *to = &samples->data[kept], *one = &samples->data[i];

		if (sample_compare(to, one) != 0) {
			samples->data[++kept] = *one;
			continue;
		}
		to->calls += one->calls;
		to->errors += one->errors;
		to->total_ns += one->total_ns;
		to->max_ns = to->max_ns > one->max_ns ? to->max_ns : one->max_ns;
		to->told += one->told;
		to->probability += one->probability;
		to->is_remote = to->is_remote && one->is_remote;
	}
	samples->count = kept + 1;
}

/* Whether a span tells how sure it is which request made it; any program may send any number. */
static bool probability_read(const struct received_span *span, double *out)
{
	const struct attribute *a = gather_attribute(span, "edge.probability");

	if (!a || (a->type != VALUE_REAL && a->type != VALUE_INTEGER))
		return false;
	*out = a->type == VALUE_REAL ? a->real : (double)a->integer;
	return *out >= 0 && *out <= 1;
}

int edges_sample(const struct gathered *g, edge_samples *out)
{
	int err = 0;

	for (uint32_t i = 0; i < g->batch.count && !err; i++) {
		const struct received_span *span = &g->batch.data[i];
		double probability;
		struct edge_sample call = {.from = span->resource->service,
					   .calls = 1,
					   .errors = span->status == RECEIVED_ERROR,
					   .total_ns = received_duration_ns(span),
					   .max_ns = received_duration_ns(span)};

		if ((span->kind != RECEIVED_CLIENT && span->kind != RECEIVED_PRODUCER) ||
		    exchange_tells(g, i))
			continue;
		call.to = callee_of(g, i, &call.is_remote);
		if (probability_read(span, &probability)) {
			call.told = 1;
			call.probability = probability;
		}
		if (call.to)
			err = vec_push(out, call);
	}
	samples_fold(out);
	return err;
}

const struct edge_sample *edges_find(const edge_samples *samples, const char *from, const char *to)
{
	const struct edge_sample key = {.from = from, .to = to};

	return samples->count
		       ? bsearch(&key, samples->data, samples->count, sizeof(key), sample_compare)
		       : NULL;
}
