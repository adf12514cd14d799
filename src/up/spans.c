/* SPDX-License-Identifier: Apache-2.0 */
#include "up/spans.h"

#include <errno.h>
#include <string.h>

#include "map/fact/query.h"
#include "up/spans_internal.h"

#define ATTRIBUTES_ADDED 40 /* at most, beside those of the application */

/* ---- the program ---- */

static const char *const resource_keys[] = {"service.namespace", "service.version",
					    "service.instance.id", "deployment.environment.name"};

static int resource_make(struct spans *s, const struct handed_span *handed, u32 pid,
			 struct received_resource *resource)
{
	const struct partial *p = handed->partial;
	u64 time_ns = handed->time.begin_ns;
	const char *service = query_resource(p, pid, time_ns, "service.name");
	const char *name = query_comm(p, pid, time_ns);
	struct list list;

	if (list_make(s, &list, 8))
		return -ENOMEM;
	service = service && *service && strlen(service) <= SERVICE_BYTES_MAX ? service : name;
	resource->service = service && *service ? text_keep(s, service) : SERVICE_UNKNOWN;
	for (size_t i = 0; i < sizeof(resource_keys) / sizeof(*resource_keys); i++) {
		const char *value = query_resource(p, pid, time_ns, resource_keys[i]);

		if (value)
			list_text(&list, resource_keys[i], text_keep(s, value));
	}
	if (pid)
		list_number(&list, "process.pid", pid);
	if (name)
		list_text(&list, "process.executable.name", text_keep(s, name));
	list_text(&list, "host.name", text_keep(s, s->chunk->host));
	for (size_t i = 0; i < list.count; i++) {
		if (list.data[i].type == VALUE_STRING && !list.data[i].string)
			return -ENOMEM;
	}
	resource->attributes = list_view(&list);
	return resource->service ? 0 : -ENOMEM;
}

static const struct received_resource *resource_of(struct spans *s,
						   const struct handed_span *handed, u32 pid)
{
	struct received_resource *resource = map_get(&s->resources, pid);

	if (resource)
		return resource;
	resource = pool_alloc(&s->pool, 1, sizeof(*resource));
	if (!resource || resource_make(s, handed, pid, resource) ||
	    map_put(&s->resources, pid, resource))
		return NULL;
	return resource;
}

/* ---- what the application gave ---- */

static int given_add(struct spans *s, struct list *list, const struct span_attribute *from)
{
	struct attribute a = {.key = text_take(s, from->text, from->key_bytes),
			      .integer = (int64_t)from->value};

	switch (from->type) {
	case ATTRIBUTE_integer:
		a.type = VALUE_INTEGER;
		break;
	case ATTRIBUTE_real:
		a.type = VALUE_REAL;
		memcpy(&a.real, &from->value, sizeof(a.real));
		break;
	case ATTRIBUTE_boolean:
		a.type = VALUE_BOOLEAN;
		break;
	default:
		a.type = VALUE_STRING;
		a.string = text_take(s, from->text + from->key_bytes,
				     from->text_bytes - from->key_bytes);
	}
	if (!a.key || (a.type == VALUE_STRING && !a.string))
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->data[i].key, a.key) == 0) { /* given again: the last one counts */
			list->data[i] = a;
			return 0;
		}
	}
	list_add(list, &a);
	return 0;
}

static int event_make(struct spans *s, const struct span_event *from, u64 begin_ns,
		      struct received_event *to)
{
	struct list list;
	int err = list_make(s, &list, from->attributes.count + 1);

	for (size_t i = 0; i < from->attributes.count && !err; i++)
		err = given_add(s, &list, &from->attributes.data[i]);
	if (!err && from->level <= 7)
		list_text(&list, "level", level_name(from->level));
	to->time_ns = unix_of(s, from->time_ns ? from->time_ns : begin_ns);
	to->name = err ? NULL : text_keep(s, from->name ? from->name : "?");
	to->attributes = list_view(&list);
	return err ? err : to->name ? 0 : -ENOMEM;
}

static int events_make(struct spans *s, const struct handed_span *handed, struct received_span *to)
{
	const struct app_span *from = handed->span;
	struct received_event *events = pool_alloc(&s->pool, from->events.count + 1,
						   sizeof(*events));
	int err = events ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->events.count && !err; i++)
		err = event_make(s, &from->events.data[i], handed->time.begin_ns, &events[i]);
	to->events = events;
	to->events_count = from->events.count;
	to->events_dropped = (uint32_t)from->events_deleted;
	return err;
}

/* ---- the span ---- */

static int attributes_make(struct spans *s, const struct handed_span *handed,
			   struct received_span *to)
{
	const struct app_span *span = handed->span;
	const char *thread = query_comm(handed->partial, span->tid, handed->time.begin_ns);
	struct list list;
	int err = list_make(s, &list, span->attributes.count + ATTRIBUTES_ADDED);

	for (size_t i = 0; i < span->attributes.count && !err; i++)
		err = given_add(s, &list, &span->attributes.data[i]);
	if (err)
		return err;
	if (span->tid)
		list_number(&list, "thread.id", span->tid);
	if (thread && (thread = text_keep(s, thread)))
		list_text(&list, "thread.name", thread);
	list_number(&list, "fathom.version", s->chunk->seq + 1);
	if (!span->begun && !span->ended)
		list_text(&list, "fathom.kind", "context");
	if (handed->time.threads > 1)
		list_number(&list, "fathom.threads", handed->time.threads);
	if (handed->time.begin_soft)
		list_text(&list, "fathom.begin", "soft");
	if (handed->time.end_soft)
		list_text(&list, "fathom.end", "soft");
	split_add_to(&list, &handed->time.split);
	err = kernel_rows_add(s, handed, &list);
	to->attributes = list_view(&list);
	to->attributes.dropped = (uint32_t)span->attributes_deleted;
	return err;
}

static struct trace_id trace_of(const struct context *ctx)
{
	return (struct trace_id){span_number(ctx->trace), span_number(ctx->trace + 8)};
}

const struct received_scope span_scope = {.name = "fathom", .version = ""};
const struct received_scope kernel_scope = {.name = "fathom.kernel", .version = ""};

bool spans_is_kernel(const struct received_span *span)
{
	return span->scope == &kernel_scope;
}

enum chosen span_choose(struct spans *s, u32 pid, u32 times, bool has_children)
{
	const struct received_span *span = &s->batch.data[s->batch.count - 1];
	const struct chooser_span asked = {.service = span->resource->service,
					   .name = span->name,
					   .kind = span->kind,
					   .pid = pid,
					   .times = times,
					   .trace = span->trace,
					   .begin_ns = span->begin_ns,
					   .is_error = span->status == RECEIVED_ERROR,
					   .has_children = has_children,
					   .duration_ns = received_duration_ns(span)};

	return chooser_ask(s->chooser, &asked, s->chunk->end_ns);
}

int chosen_children_add(struct spans *s, const struct spans_waiting *w,
			const struct kspan *children)
{
	size_t count = chooser_grant(s->chooser, w->chosen, w->count, s->chunk->end_ns);
	struct received_span *span = &s->batch.data[w->at];

	w->attributes[span->attributes.count++] = (struct attribute){
		.key = "fathom.kernel.why", .type = VALUE_STRING, .string = chosen_name(w->chosen)};
	s->kernel += count;
	s->kernel_left_out += w->count - count + w->more_count;
	return kernel_children_add(s, children, count, w->at);
}

int spans_finish(struct spans *s)
{
	bool is_notable = false;
	int err = 0;

	for (size_t i = 0; i < s->waiting.count; i++)
		is_notable |= s->waiting.data[i].chosen == CHOSEN_ERROR ||
			      s->waiting.data[i].chosen == CHOSEN_SLOW;
	for (size_t i = 0; i < s->waiting.count && !err; i++) {
		struct spans_waiting *w = &s->waiting.data[i];

		if (is_notable && w->count && w->chosen == CHOSEN_NOT)
			w->chosen = CHOSEN_TRACE;
		if (w->chosen)
			err = chosen_children_add(s, w, s->children.data + w->first);
	}
	s->waiting.count = s->children.count = 0;
	return err;
}

/* Keeps the names of threads that ended waits: the partial that knows them goes. */
static int wakers_keep(struct spans *s, const struct handed_span *handed)
{
	int err = 0;

	for (size_t i = 0; i < handed->children_count && handed->partial && !err; i++) {
		const struct kspan *k = &handed->children[i];
		const char *name;

		if (k->kind != KSPAN_WAIT || !k->wake.has || !k->wake.waker_tid ||
		    map_get(&s->names, k->wake.waker_tid))
			continue;
		name = query_comm(handed->partial, k->wake.waker_tid, k->wake.time_ns);
		name = text_keep(s, name);
		err = name ? map_put(&s->names, k->wake.waker_tid, (void *)name) : -ENOMEM;
	}
	return err;
}

int children_know(struct spans *s, const struct handed_span *handed)
{
	int err = wakers_keep(s, handed);

	return err ? err : told_objects_keep(s, handed);
}

int children_wait(struct spans *s, const struct handed_span *handed, u32 pid)
{
	const struct received_span *span = &s->batch.data[s->batch.count - 1];
	const struct spans_waiting w = {
		.at = s->batch.count - 1,
		.attributes = (struct attribute *)span->attributes.data,
		.first = s->children.count,
		.count = handed->children_count,
		.more_count = handed->more_count,
		.chosen = span_choose(s, pid, 1, handed->children_count > 0)};

	if (vec_reserve(&s->children, s->children.count + w.count))
		return -ENOMEM;
	if (w.count)
		memcpy(s->children.data + w.first, handed->children,
		       w.count * sizeof(*handed->children));
	s->children.count += w.count;
	if (children_know(s, handed))
		return -ENOMEM;
	return vec_push(&s->waiting, w);
}

int trace_begin(struct spans *s, struct trace_id trace)
{
	const struct received_span *last;

	if (!s->waiting.count)
		return 0;
	last = &s->batch.data[s->waiting.data[0].at];
	return last->trace.high == trace.high && last->trace.low == trace.low ? 0 : spans_finish(s);
}

int spans_add_handed(struct spans *s, const struct handed_span *handed)
{
	const struct app_span *span = handed->span;
	u64 begin_ns = handed->time.begin_ns;
	struct span_place place = {0};
	u32 pid;
	struct received_span to = {
		.trace = trace_of(&span->ctx),
		.span_id = span_number(span->ctx.span),
		.parent_id = span_number((const u8 *)&span->parent),
		.begin_ns = unix_of(s, begin_ns),
		.end_ns = unix_of(s, handed->time.end_ns),
		.trace_state = "",
		.kind = span->kind < 5 ? (uint8_t)(RECEIVED_INTERNAL + span->kind)
				       : RECEIVED_INTERNAL,
		.status = span->status <= RECEIVED_ERROR ? span->status : RECEIVED_UNSET,
		.scope = &span_scope};
	int err;

	if (handed->open)
		return 0;
	err = trace_begin(s, to.trace);
	if (err)
		return err;
	place = query_span_place(handed->partial, span, begin_ns);
	/* one name for all of which only the context was seen: there is a list of names */
	to.name = text_keep(s, span->name ? span->name : "context");
	to.status_text = text_keep(s, span->message);
	pid = place.pid ? place.pid : span->pid;
	to.resource = resource_of(s, handed, pid);
	if (!to.name || !to.status_text || !to.resource)
		return -ENOMEM;
	err = attributes_make(s, handed, &to);
	err = err ? err : events_make(s, handed, &to);
	err = err ? err : vec_push(&s->batch, to);
	return err || !s->chooser ? err : children_wait(s, handed, pid);
}

void spans_begin(struct spans *s, const struct chunk_info *chunk)
{
	s->batch.count = 0;
	s->waiting.count = s->children.count = 0;
	s->kernel = s->kernel_left_out = 0;
	pool_reset(&s->pool);
	map_free(&s->resources);
	memset(&s->resources, 0, sizeof(s->resources));
	map_free(&s->names);
	memset(&s->names, 0, sizeof(s->names));
	map_free(&s->told);
	memset(&s->told, 0, sizeof(s->told));
	objects_reset(&s->objects);
	s->chunk = chunk;
}

void spans_end(struct spans *s)
{
	vec_free(&s->batch);
	vec_free(&s->waiting);
	vec_free(&s->children);
	exchange_work_free(&s->work);
	pool_free(&s->pool);
	map_free(&s->resources);
	map_free(&s->names);
	map_free(&s->told);
	objects_reset(&s->objects);
	memset(s, 0, sizeof(*s));
}
