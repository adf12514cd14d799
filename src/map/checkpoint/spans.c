/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in a checkpoint. */
#include "map/checkpoint/internal.h"
#include "map/partial.h"

#include <errno.h>

static void archive_attribute(struct archive *a, struct span_attribute *t)
{
	archive_text(a, &t->text, &t->text_bytes);
	archive_u32(a, &t->key_bytes);
	archive_u8(a, &t->type);
	archive_u64(a, &t->value);
	if (!t->text || t->key_bytes > t->text_bytes)
		archive_fail(a, -EBADMSG);
}

static void archive_event(struct archive *a, struct span_event *e)
{
	archive_time(a, &e->time_ns);
	archive_u32(a, &e->tid);
	archive_path(a, &e->name);
	archive_u8(a, &e->level);
	archive_list(a, &e->attributes, archive_attribute);
}

static void archive_share(struct archive *a, struct span_share *s)
{
	archive_u32(a, &s->tid);
	archive_u32(a, &s->pid);
	archive_time(a, &s->begin_ns);
	archive_time(a, &s->end_ns);
}

static void archive_span(struct archive *a, struct app_span *s)
{
	archive_bool(a, &s->begun);
	archive_bool(a, &s->ended);
	archive_u8(a, &s->status);
	archive_time(a, &s->end_ns);
	archive_path(a, &s->message);
	archive_u8(a, &s->kind);
	archive_u8(a, &s->level);
	archive_u8(a, &s->flags);
	archive_u32(a, &s->tid);
	archive_u32(a, &s->pid);
	archive_time(a, &s->begin_ns);
	archive_time(a, &s->gap_ns);
	archive_u64(a, &s->parent);
	archive_path(a, &s->name);
	archive_list(a, &s->active.list, archive_share);
	archive_list(a, &s->seen.list, archive_share);
	archive_list(a, &s->events, archive_event);
	archive_list(a, &s->attributes, archive_attribute);
	archive_u64(a, &s->events_deleted);
	archive_u64(a, &s->attributes_deleted);
}

void checkpoint_spans_read(struct archive *a, struct partial *p)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct context ctx;
		struct app_span *span;

		archive_context(a, &ctx);
		if (a->err)
			return;
		span = span_get(p, &ctx);
		if (!span || p->spans.count != i + 1) /* or one id stands twice */
			archive_fail(a, span ? -EBADMSG : -ENOMEM);
		else
			archive_span(a, span);
	}
}

void checkpoint_spans_write(struct archive *a, const struct partial *p)
{
	archive_count(a, p->spans.count);
	for (size_t i = 0; i < p->spans.count; i++) {
		archive_context(a, &p->spans.data[i]->ctx);
		archive_span(a, p->spans.data[i]);
	}
}
