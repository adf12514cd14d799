/* SPDX-License-Identifier: Apache-2.0 */
#include "up/spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map/fact/query.h"
#include "model/syscall_format.h"
#include "model/uring.h"

#define ATTRIBUTES_ADDED 40 /* at most, beside those of the application */
#define ROWS_MAX 16
#define ROWS_TOLD_APART 128

/* ---- what a batch needs ---- */

static const char *text_take(struct spans *s, const char *text, size_t bytes)
{
	char *copy = pool_alloc(&s->pool, bytes + 1, 1);

	if (copy && bytes)
		memcpy(copy, text, bytes);
	return copy;
}

static const char *text_keep(struct spans *s, const char *text)
{
	return text ? text_take(s, text, strlen(text)) : "";
}

static uint64_t unix_of(const struct spans *s, u64 time_ns)
{
	const struct chunk_clock *clock = &s->chunk->clock;

	return clock->unix_ns + (time_ns - clock->monotonic_ns);
}

/* A list of attributes in the pool, with room for `room`; texts are the pool's, or static. */
struct list {
	struct attribute *data;
	size_t count, room;
};

static void list_add(struct list *l, const struct attribute *a)
{
	if (l->count < l->room)
		l->data[l->count++] = *a;
}

static void list_text(struct list *l, const char *key, const char *text)
{
	list_add(l, &(struct attribute){.key = key, .type = VALUE_STRING, .string = text});
}

static void list_number(struct list *l, const char *key, uint64_t number)
{
	list_add(l, &(struct attribute){
			    .key = key, .type = VALUE_INTEGER, .integer = (int64_t)number});
}

static int list_make(struct spans *s, struct list *l, size_t room)
{
	*l = (struct list){.data = pool_alloc(&s->pool, room + 1, sizeof(*l->data)), .room = room};
	return l->data ? 0 : -ENOMEM;
}

static struct received_list list_view(const struct list *l)
{
	return (struct received_list){.data = l->data, .count = l->count};
}

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

/* ---- what its threads did in the kernel ---- */

struct kernel_row {
	const char *kind, *name; /* static */
	u64 count, total_ns;
};

struct kernel_rows {
	struct kernel_row rows[ROWS_TOLD_APART];
	size_t count;
	u64 more_count, more_ns;
};

static void kspan_name(const struct kspan *k, struct kernel_row *row)
{
	static const char *const kinds[] = {[KSPAN_SYSCALL] = "syscall",
					    [KSPAN_FAULT] = "fault",
					    [KSPAN_WAIT] = "wait",
					    [KSPAN_URING] = "io_uring",
					    [KSPAN_BLOCK] = "block"};
	const char *name = NULL;

	row->kind = k->kind <= KSPAN_BLOCK ? kinds[k->kind] : "?";
	if (k->kind == KSPAN_SYSCALL)
		name = syscall_name(k->mode & SYSCALL_COMPAT, k->nr);
	else if (k->kind == KSPAN_WAIT)
		name = split_part_name(k->part);
	else if (k->kind == KSPAN_URING)
		name = uring_name((u8)k->nr);
	else
		name = row->kind;
	row->name = name ? name : "?";
}

static void rows_take(struct kernel_rows *rows, const struct kspan *k)
{
	struct kernel_row row = {.count = 1, .total_ns = k->end_ns - k->begin_ns};
	size_t i = 0;

	kspan_name(k, &row);
	while (i < rows->count && (strcmp(rows->rows[i].name, row.name) != 0 ||
				   strcmp(rows->rows[i].kind, row.kind) != 0))
		i++;
	if (i == ROWS_TOLD_APART) {
		rows->more_count++;
		rows->more_ns += row.total_ns;
	} else if (i == rows->count) {
		rows->rows[rows->count++] = row;
	} else {
		rows->rows[i].count++;
		rows->rows[i].total_ns += row.total_ns;
	}
}

static int row_compare(const void *a, const void *b)
{
	const struct kernel_row *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static int row_write(struct spans *s, const struct kernel_row *row, struct attribute *to)
{
	struct list list;

	if (list_make(s, &list, 4))
		return -ENOMEM;
	list_text(&list, "kind", row->kind);
	list_text(&list, "name", row->name);
	list_number(&list, "count", row->count);
	list_number(&list, "total_ns", row->total_ns);
	*to = (struct attribute){.type = VALUE_MAP, .items = list.data, .count = list.count};
	return 0;
}

static int kernel_add(struct spans *s, const struct handed_span *handed, struct list *to)
{
	struct kernel_rows rows = {.more_count = handed->more_count, .more_ns = handed->more_ns};
	struct attribute *items = pool_alloc(&s->pool, ROWS_MAX, sizeof(*items));
	size_t kept;
	int err = items ? 0 : -ENOMEM;

	for (size_t i = 0; i < handed->children_count; i++)
		rows_take(&rows, &handed->children[i]);
	if (rows.count)
		qsort(rows.rows, rows.count, sizeof(*rows.rows), row_compare);
	kept = rows.count < ROWS_MAX ? rows.count : ROWS_MAX;
	for (size_t i = 0; i < kept && !err; i++)
		err = row_write(s, &rows.rows[i], &items[i]);
	for (size_t i = kept; i < rows.count; i++) {
		rows.more_count += rows.rows[i].count;
		rows.more_ns += rows.rows[i].total_ns;
	}
	if (kept)
		list_add(to, &(struct attribute){.key = "fathom.kernel",
						 .type = VALUE_ARRAY,
						 .items = items,
						 .count = kept});
	if (rows.more_count) {
		list_number(to, "fathom.kernel.more_count", rows.more_count);
		list_number(to, "fathom.kernel.more_ns", rows.more_ns);
	}
	return err;
}

/* ---- the span ---- */

static const char *const split_keys[SPLIT_PARTS_COUNT] = {
#define P(part, value, what) [value] = "fathom.time." #part "_ns",
	SPLIT_PARTS(P)
#undef P
};

static void split_add_to(struct list *list, const struct split *split)
{
	for (int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		if (split->ns[part])
			list_number(list, split_keys[part], (uint64_t)split->ns[part]);
	}
}

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
	list_number(&list, "fathom.version", s->chunk->seq);
	if (!span->begun && !span->ended)
		list_text(&list, "fathom.kind", "context");
	if (handed->time.threads > 1)
		list_number(&list, "fathom.threads", handed->time.threads);
	if (handed->time.begin_soft)
		list_text(&list, "fathom.begin", "soft");
	if (handed->time.end_soft)
		list_text(&list, "fathom.end", "soft");
	split_add_to(&list, &handed->time.split);
	err = kernel_add(s, handed, &list);
	to->attributes = list_view(&list);
	to->attributes.dropped = (uint32_t)span->attributes_deleted;
	return err;
}

static struct trace_id trace_of(const struct context *ctx)
{
	return (struct trace_id){span_number(ctx->trace), span_number(ctx->trace + 8)};
}

int spans_add_handed(struct spans *s, const struct handed_span *handed)
{
	static const struct received_scope scope = {.name = "fathom", .version = ""};
	const struct app_span *span = handed->span;
	u64 begin_ns = handed->time.begin_ns;
	struct span_place place = {0};
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
		.scope = &scope};
	int err;

	if (handed->open)
		return 0;
	place = query_span_place(handed->partial, span, begin_ns);
	/* one name for all of which only the context was seen: there is a list of names */
	to.name = text_keep(s, span->name ? span->name : "context");
	to.status_text = text_keep(s, span->message);
	to.resource = resource_of(s, handed, place.pid ? place.pid : span->pid);
	if (!to.name || !to.status_text || !to.resource)
		return -ENOMEM;
	err = attributes_make(s, handed, &to);
	err = err ? err : events_make(s, handed, &to);
	return err ? err : vec_push(&s->batch, to);
}

void spans_begin(struct spans *s, const struct chunk_info *chunk)
{
	s->batch.count = 0;
	pool_reset(&s->pool);
	map_free(&s->resources);
	memset(&s->resources, 0, sizeof(s->resources));
	s->chunk = chunk;
}

void spans_end(struct spans *s)
{
	vec_free(&s->batch);
	pool_free(&s->pool);
	map_free(&s->resources);
	memset(s, 0, sizeof(*s));
}
