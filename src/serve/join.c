/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "serve/route.h"
#include "span/attributes.h"

#define TIME_UNKNOWN "fathom.time.unknown_ns"
#define LEVELS_MOST 64 /* spans above each other that are looked at */

static const struct attribute *attribute_of(const struct received_span *span, const char *key)
{
	return attributes_find(span->attributes.data, span->attributes.count, key);
}

static bool is_context(const struct received_span *span)
{
	const struct attribute *kind = attribute_of(span, "fathom.kind");

	return kind && kind->type == VALUE_STRING && strcmp(kind->string, "context") == 0;
}

struct joining {
	struct received_batch *batch;
	struct pool *pool;
	struct bytes_map spans; /* ids -> a received span, or &several */
};

static struct received_span several;

struct ids {
	struct trace_id trace;
	uint64_t span_id;
};

static struct ids ids_of(const struct received_span *span)
{
	return (struct ids){span->trace, span->span_id};
}

static int received_collect(struct joining *j)
{
	int err = 0;

	for (size_t i = 0; i < j->batch->count && !err; i++) {
		struct received_span *span = &j->batch->data[i];
		struct ids ids = ids_of(span);

		if (!is_context(span))
			err = bytes_map_put(&j->spans, &ids, sizeof(ids),
					    bytes_map_get(&j->spans, &ids, sizeof(ids)) ? &several
											: span);
	}
	return err;
}

static bool goes_over(const struct attribute *a)
{
	static const char *const own[] = {"fathom.kind", "fathom.begin", "fathom.end",
					  TIME_UNKNOWN};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (strcmp(a->key, own[i]) == 0)
			return false;
	}
	return strncmp(a->key, "fathom.", 7) == 0;
}

/* Whether anything is told of its time. One that could not be joined says only why. */
static bool has_time(const struct received_span *context)
{
	for (size_t i = 0; i < context->attributes.count; i++) {
		if (strncmp(context->attributes.data[i].key, "fathom.time.", 12) == 0)
			return true;
	}
	return attribute_of(context, "fathom.join") == NULL;
}

/*
 * The time that no part tells of: what is unknown of the context, and the time around it. Any
 * program may send any number.
 */
static int64_t unknown_of(const struct received_span *span, const struct received_span *context)
{
	const struct attribute *unknown = attribute_of(context, TIME_UNKNOWN);
	uint64_t left = received_duration_ns(span);

	if (attribute_of(context, "fathom.threads"))
		return unknown && unknown->type == VALUE_INTEGER ? unknown->integer : 0;
	for (size_t i = 0; i < context->attributes.count; i++) {
		const struct attribute *a = &context->attributes.data[i];
		bool is_part = goes_over(a) && strncmp(a->key, "fathom.time.", 12) == 0;

		if (is_part && a->type == VALUE_INTEGER && a->integer > 0)
			left -= (uint64_t)a->integer < left ? (uint64_t)a->integer : left;
	}
	return left <= INT64_MAX ? (int64_t)left : 0;
}

static int attributes_move(struct joining *j, struct received_span *span,
			   const struct received_span *context)
{
	size_t count = span->attributes.count;
	struct attribute *list = pool_alloc(j->pool, count + context->attributes.count + 2,
					    sizeof(*list));
	int64_t unknown = has_time(context) ? unknown_of(span, context) : 0;

	if (!list)
		return -ENOMEM;
	if (count)
		memcpy(list, span->attributes.data, count * sizeof(*list));
	for (size_t i = 0; i < context->attributes.count; i++) {
		if (goes_over(&context->attributes.data[i]))
			list[count++] = context->attributes.data[i];
	}
	if (unknown)
		list[count++] = (struct attribute){
			.key = TIME_UNKNOWN, .type = VALUE_INTEGER, .integer = unknown};
	if (!attribute_of(context, "fathom.join"))
		list[count++] = (struct attribute){
			.key = "fathom.join", .type = VALUE_STRING, .string = "context"};
	span->attributes.data = list;
	span->attributes.count = count;
	return 0;
}

static bool is_same(const struct received_span *a, const struct received_span *b)
{
	return a->span_id == b->span_id && a->trace.high == b->trace.high &&
	       a->trace.low == b->trace.low;
}

/*
 * The received span of which the context is: of several with its ids, the two halves of a call,
 * the one that begins when it does. NULL: there is none.
 */
static struct received_span *received_of(struct joining *j, const struct received_span *context)
{
	struct ids ids = ids_of(context);
	struct received_span *span = bytes_map_get(&j->spans, &ids, sizeof(ids));

	struct received_span *found = NULL;

	if (span != &several)
		return span;
	for (size_t i = 0; i < j->batch->count; i++) {
		span = &j->batch->data[i];
		if (span == context || span->begin_ns != context->begin_ns ||
		    span->kind != context->kind || is_context(span) || !is_same(span, context))
			continue;
		if (found)
			return NULL;
		found = span;
	}
	return found;
}

/* The name of a span that nobody told: its id, as in reports. */
static int name_make(struct joining *j, struct received_span *context)
{
	char *name;

	if (strcmp(context->name, STORE_CONTEXT_NAME) != 0)
		return 0;
	name = pool_alloc(j->pool, SPAN_ID_BYTES, 1);
	if (!name)
		return -ENOMEM;
	span_id_text(name, context->span_id);
	context->name = name;
	return 0;
}

/* Spans keep their order, so those that the table points to are moved last. */
static int contexts_join(struct joining *j)
{
	struct received_batch *batch = j->batch;
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i++) {
		struct received_span *context = &batch->data[i], *span;

		if (!is_context(context))
			continue;
		span = received_of(j, context);
		if (!span) {
			err = name_make(j, context);
			continue;
		}
		err = attributes_move(j, span, context);
		context->span_id = 0; /* it goes */
	}
	for (size_t i = 0; i < batch->count && !err; i++) {
		if (batch->data[i].span_id)
			batch->data[left++] = batch->data[i];
	}
	batch->count = err ? batch->count : left;
	return err;
}

/* The span that this one says is below it; NULL: it says none, or that one is not here. */
static struct received_span *child_of(struct joining *j, const struct received_span *span)
{
	const struct attribute *child = attribute_of(span, "fathom.child");
	struct ids ids = {.trace = span->trace};
	struct received_span *found;

	if (!child || child->type != VALUE_STRING)
		return NULL;
	ids.span_id = strtoull(child->string, NULL, 16);
	found = bytes_map_get(&j->spans, &ids, sizeof(ids));
	return found == &several || found == span ? NULL : found;
}

/* Whether a span has this one above it, directly or further up. */
static bool lies_below(struct joining *j, const struct received_span *span, uint64_t above)
{
	struct ids ids = {.trace = span->trace};

	for (int level = 0; level < LEVELS_MOST && span && span != &several; level++) {
		if (span->parent_id == above)
			return true;
		ids.span_id = span->parent_id;
		span = bytes_map_get(&j->spans, &ids, sizeof(ids));
	}
	return false;
}

/*
 * A span gets the request within which it ran, if it has no parent, or one above that request: the
 * calling application, where nothing saw what lies between.
 */
static void children_join(struct joining *j)
{
	for (size_t i = 0; i < j->batch->count; i++) {
		struct received_span *child = child_of(j, &j->batch->data[i]);

		if (child &&
		    (!child->parent_id || lies_below(j, &j->batch->data[i], child->parent_id)))
			child->parent_id = j->batch->data[i].span_id;
	}
}

int spans_join(struct received_batch *batch, struct pool *pool)
{
	struct joining j = {.batch = batch, .pool = pool};
	bool any = false;
	int err;

	for (size_t i = 0; i < batch->count && !any; i++)
		any = is_context(&batch->data[i]) ||
		      attribute_of(&batch->data[i], "fathom.child") != NULL;
	if (!any)
		return 0;
	err = received_collect(&j);
	if (!err) {
		children_join(&j);
		err = contexts_join(&j);
	}
	bytes_map_free(&j.spans);
	return err;
}

/* A request that was followed has the range of its bytes; fathom's own scope has no other spans. */
static bool is_added(const struct received_span *span)
{
	return attribute_of(span, "fathom.kind") ||
	       (strcmp(span->scope->name, "fathom") == 0 && attribute_of(span, "bytes.from"));
}

static int attributes_strip(struct received_span *span, struct pool *pool)
{
	struct attribute *list = pool_alloc(pool, span->attributes.count + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < span->attributes.count; i++) {
		if (strncmp(span->attributes.data[i].key, "fathom.", 7) != 0)
			list[count++] = span->attributes.data[i];
	}
	span->attributes.data = list;
	span->attributes.count = count;
	return 0;
}

int spans_strip(struct received_batch *batch, struct pool *pool)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i++) {
		if (is_added(&batch->data[i]))
			continue;
		err = attributes_strip(&batch->data[i], pool);
		batch->data[left++] = batch->data[i];
	}
	batch->count = err ? batch->count : left;
	return err;
}
