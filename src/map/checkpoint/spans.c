/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in a checkpoint. */
#include "map/checkpoint/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"
#include "map/span/shares.h"
#include "map/span/spans.h"

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
	if (a->whole && e->time_ns && !e->name)
		archive_fail(a, -EBADMSG);
}

static void archive_hold(struct archive *a, struct span_hold *h)
{
	archive_time(a, &h->begin_ns);
	archive_time(a, &h->end_ns);
	archive_split(a, &h->split);
}

static void archive_share(struct archive *a, struct span_share *s)
{
	archive_u32(a, &s->tid);
	archive_u32(a, &s->pid);
	archive_time(a, &s->begin_ns);
	archive_time(a, &s->end_ns);
	if (!a->whole)
		return;
	archive_split(a, &s->split);
	archive_list(a, &s->holds, archive_hold);
}

/* Of a whole partial by thread, and in an order of its own. */
static void archive_shares(struct archive *a, struct span_shares *shares)
{
	if (a->whole && !archive_reads(a) && shares_sort(shares))
		archive_fail(a, -ENOMEM);
	archive_list(a, &shares->list, archive_share);
	if (a->whole && archive_reads(a) && shares_sort(shares))
		archive_fail(a, -ENOMEM);
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
	archive_shares(a, &s->active);
	archive_shares(a, &s->seen);
	archive_list(a, &s->events, archive_event);
	archive_list(a, &s->attributes, archive_attribute);
	archive_u64(a, &s->events_deleted);
	archive_u64(a, &s->attributes_deleted);
	if (a->whole)
		archive_time(a, &s->open_ns);
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

static int span_compare(const void *a, const void *b)
{
	const struct app_span *x = *(struct app_span *const *)a, *y = *(struct app_span *const *)b;

	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

void checkpoint_spans_write(struct archive *a, struct partial *p)
{
	if (a->whole && p->spans.count)
		qsort(p->spans.data, p->spans.count, sizeof(*p->spans.data), span_compare);
	archive_count(a, p->spans.count);
	for (size_t i = 0; i < p->spans.count; i++) {
		archive_context(a, &p->spans.data[i]->ctx);
		archive_span(a, p->spans.data[i]);
	}
}
