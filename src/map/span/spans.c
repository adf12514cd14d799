/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of the application. Their records and the shares of their threads'
 * time come in any order and from any chunk; all of it joins by id.
 */
#include "map/span/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"
#include "map/span/shares.h"

struct app_span *span_get(struct partial *p, const struct context *ctx)
{
	struct app_span *span = bytes_map_get(&p->span_index, ctx, sizeof(*ctx));

	if (span)
		return span;
	span = calloc(1, sizeof(*span));
	if (!span)
		return NULL;
	span->ctx = *ctx;
	span->seen.sighted = true;
	if (vec_push(&p->spans, span)) {
		free(span);
		return NULL;
	}
	if (bytes_map_put(&p->span_index, ctx, sizeof(*ctx), span))
		return NULL;
	return span;
}

static int begin_add(struct app_span *span, const struct record_span_begin *r)
{
	span->begun = true;
	span->begin_ns = r->head.time_ns;
	span->tid = r->head.tid;
	span->pid = r->head.pid;
	span->kind = r->span_kind;
	span->level = r->level;
	span->flags = r->flags;
	span->parent = r->parent;
	free(span->name);
	span->name = text_copy(r->name, r->name_len);
	return span->name ? 0 : -ENOMEM;
}

static int end_add(struct app_span *span, const struct record_span_end *r)
{
	span->ended = true;
	span->end_ns = r->head.time_ns;
	span->status = r->status;
	if (!span->pid)
		span->pid = r->head.pid;
	if (!r->message_len)
		return 0;
	free(span->message);
	span->message = text_copy(r->message, r->message_len);
	return span->message ? 0 : -ENOMEM;
}

static int event_add(struct app_span *span, const struct record_span_event *r)
{
	struct span_event event = {
		.time_ns = r->head.time_ns, .tid = r->head.tid, .level = r->level};
	int err;

	event.name = text_copy(r->name, r->name_len);
	if (!event.name)
		return -ENOMEM;
	err = vec_push(&span->events, event);
	if (err)
		free(event.name);
	return err;
}

#define EVENTS_LISTED 16 /* so many are looked through one after the other */

/* Events are deleted: the numbers of the others change. */
static void events_unnumber(struct app_span *span)
{
	map_free(&span->last_events);
	span->events_numbered = 0;
}

static int events_number(struct app_span *span)
{
	int err = 0;

	for (; span->events_numbered < span->events.count && !err; span->events_numbered++)
		err = map_put(&span->last_events, span->events.data[span->events_numbered].tid,
			      (void *)(uintptr_t)(span->events_numbered + 1));
	if (err)
		events_unnumber(span);
	return err;
}

/*
 * The last event that a thread told, NULL if it told none: as a rule one of the last of all. 0 or
 * -ENOMEM.
 */
static int event_of(struct app_span *span, u32 tid, struct span_event **found)
{
	size_t count = span->events.count, number;
	size_t listed = count > EVENTS_LISTED ? EVENTS_LISTED : count;
	int err;

	for (size_t i = count; i > count - listed; i--)
		if (span->events.data[i - 1].tid == tid) {
			*found = &span->events.data[i - 1];
			return 0;
		}
	*found = NULL;
	if (listed == count)
		return 0;
	err = events_number(span);
	number = (size_t)(uintptr_t)map_get(&span->last_events, tid);
	if (!err && number)
		*found = &span->events.data[number - 1];
	return err;
}

/*
 * An attribute of an event follows it in the thread's stream, so it is of the last one
 * that its thread told. If that lies in a chunk before, an event without a time keeps
 * the place of its attributes until a merge joins them.
 */
static int attribute_add(struct app_span *span, const struct record_span_attribute *r)
{
	struct span_attribute a = {.type = r->type,
				   .value = r->value,
				   .text_bytes = r->text_len,
				   .key_bytes = r->key_len};
	struct span_event *event = NULL;
	int err = r->of_event ? event_of(span, r->head.tid, &event) : 0;

	if (err)
		return err;
	if (a.key_bytes > a.text_bytes)
		a.key_bytes = a.text_bytes;
	a.text = text_copy(r->text, r->text_len);
	if (!a.text)
		return -ENOMEM;
	if (r->of_event && !event) {
		err = vec_push(&span->events, (struct span_event){.tid = r->head.tid});
		if (!err)
			event = &span->events.data[span->events.count - 1];
	}
	if (!err)
		err = event ? vec_push(&event->attributes, a) : vec_push(&span->attributes, a);
	if (err)
		free(a.text);
	return err;
}

int spans_add(struct partial *p, const struct record_head *r)
{
	struct context ctx;
	struct app_span *span;

	switch (r->kind) {
	case RECORD_span_begin:
		ctx = ((const struct record_span_begin *)r)->ctx;
		span = span_get(p, &ctx);
		return span ? begin_add(span, (const void *)r) : -ENOMEM;
	case RECORD_span_end:
		ctx = ((const struct record_span_end *)r)->ctx;
		span = span_get(p, &ctx);
		return span ? end_add(span, (const void *)r) : -ENOMEM;
	case RECORD_span_event:
		ctx = ((const struct record_span_event *)r)->ctx;
		span = span_get(p, &ctx);
		return span ? event_add(span, (const void *)r) : -ENOMEM;
	case RECORD_span_attribute:
		ctx = ((const struct record_span_attribute *)r)->ctx;
		span = span_get(p, &ctx);
		return span ? attribute_add(span, (const void *)r) : -ENOMEM;
	default:
		return 0;
	}
}

int spans_share(struct partial *p, bool active, const struct life *l,
		const struct life_share *share)
{
	struct app_span *span = span_get(p, &share->ctx);
	struct span_share s = {.tid = share->tid,
			       .pid = l->pid,
			       .begin_ns = share->begin_ns,
			       .end_ns = share->end_ns,
			       .split = share->split};

	if (!span)
		return -ENOMEM;
	return share_add(active ? &span->active : &span->seen, &s);
}

int span_sighted(struct partial *p, const struct context *ctx, const struct record_head *head,
		 u64 time_ns)
{
	struct span_share s = {head->tid, head->pid, .begin_ns = time_ns, .end_ns = time_ns};
	struct app_span *span;

	if (context_is_none(ctx))
		return 0;
	span = span_get(p, ctx);
	return span ? share_add(&span->seen, &s) : -ENOMEM;
}

static void attribute_free(struct span_attribute *a)
{
	free(a->text);
}

static void event_free(struct span_event *event)
{
	free(event->name);
	for (size_t i = 0; i < event->attributes.count; i++)
		attribute_free(&event->attributes.data[i]);
	vec_free(&event->attributes);
}

/* Frees the oldest of a list but `keep` of them; how many they were. */
#define DELETE_OLDEST(list, keep, release)                                                         \
	({                                                                                         \
		size_t over_ = (list)->count > (keep) ? (list)->count - (keep) : 0;                \
		for (size_t i_ = 0; i_ < over_; i_++)                                              \
			release(&(list)->data[i_]);                                                \
		(list)->count -= over_;                                                            \
		if (over_)                                                                         \
			memmove((list)->data, (list)->data + over_,                                \
				(list)->count * sizeof(*(list)->data));                            \
		over_;                                                                             \
	})

void span_shorten(struct app_span *s)
{
	events_unnumber(s);
	s->events_deleted += DELETE_OLDEST(&s->events, SPAN_EVENTS_KEPT, event_free);
	s->attributes_deleted += DELETE_OLDEST(&s->attributes, SPAN_ATTRIBUTES_KEPT,
					       attribute_free);
	for (size_t i = 0; i < s->events.count; i++)
		s->attributes_deleted += DELETE_OLDEST(&s->events.data[i].attributes,
						       SPAN_ATTRIBUTES_KEPT, attribute_free);
}

void span_free(struct app_span *span)
{
	free(span->name);
	free(span->message);
	for (size_t i = 0; i < span->events.count; i++)
		event_free(&span->events.data[i]);
	for (size_t i = 0; i < span->attributes.count; i++)
		attribute_free(&span->attributes.data[i]);
	vec_free(&span->events);
	map_free(&span->last_events);
	vec_free(&span->attributes);
	shares_free(&span->active);
	shares_free(&span->seen);
	free(span);
}

/* An event goes to the left; one without a time is attributes of the last one there. */
static int event_move(struct app_span *to, struct span_event *event)
{
	struct span_event *last = NULL;
	int err = event->time_ns ? 0 : event_of(to, event->tid, &last);

	if (err || !last)
		return err ? err : vec_push(&to->events, *event);
	for (size_t i = 0; i < event->attributes.count && !err; i++)
		err = vec_push(&last->attributes, event->attributes.data[i]);
	vec_free(&event->attributes);
	return err;
}

static int events_move(struct app_span *to, struct app_span *from)
{
	int err = 0;

	for (size_t i = 0; i < from->events.count && !err; i++)
		err = event_move(to, &from->events.data[i]);
	from->events.count = 0;
	for (size_t i = 0; i < from->attributes.count && !err; i++)
		err = vec_push(&to->attributes, from->attributes.data[i]);
	from->attributes.count = 0;
	return err;
}

static int span_join(struct app_span *to, struct app_span *from)
{
	int err = events_move(to, from);

	to->events_deleted += from->events_deleted;
	to->attributes_deleted += from->attributes_deleted;
	if (to->open_ns < from->open_ns)
		to->open_ns = from->open_ns;
	if (from->begun) {
		to->begun = true;
		to->begin_ns = from->begin_ns;
		to->gap_ns = from->gap_ns;
		to->tid = from->tid;
		to->pid = from->pid;
		to->kind = from->kind;
		to->level = from->level;
		to->flags = from->flags;
		to->parent = from->parent;
		free(to->name);
		to->name = from->name;
		from->name = NULL;
	} else if (!to->begun && from->begin_ns &&
		   (!to->begin_ns || from->begin_ns < to->begin_ns)) {
		to->begin_ns = from->begin_ns;
	}
	if (from->ended) {
		to->ended = true;
		to->end_ns = from->end_ns;
		to->status = from->status;
		if (!to->pid)
			to->pid = from->pid;
		if (from->message) {
			free(to->message);
			to->message = from->message;
			from->message = NULL;
		}
	}
	err = err ? err : shares_join(&to->active, &from->active);
	return err ? err : shares_join(&to->seen, &from->seen);
}

int spans_merge(struct partial *left, struct partial *right)
{
	int err = 0;

	for (size_t i = 0; i < right->spans.count && !err; i++) {
		struct app_span *from = right->spans.data[i];
		struct app_span *to = span_get(left, &from->ctx);

		err = to ? span_join(to, from) : -ENOMEM;
	}
	spans_free(right);
	return err;
}

struct app_span *span_parent(const struct partial *p, const struct app_span *span)
{
	struct context up = span->ctx;

	if (!span->begun || !span->parent)
		return NULL;
	memcpy(up.span, &span->parent, sizeof(up.span));
	return bytes_map_get(&p->span_index, &up, sizeof(up));
}

static int span_compare(const void *a, const void *b)
{
	const struct app_span *x = *(struct app_span *const *)a, *y = *(struct app_span *const *)b;

	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

int spans_sort(struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		err = shares_sort(&p->spans.data[i]->active);
		err = err ? err : shares_sort(&p->spans.data[i]->seen);
	}
	if (p->spans.count)
		qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_compare);
	return err;
}

void spans_free(struct partial *p)
{
	for (size_t i = 0; i < p->spans.count; i++)
		span_free(p->spans.data[i]);
	vec_free(&p->spans);
	bytes_map_free(&p->span_index);
}
