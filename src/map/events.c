/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel tracepoints that the user chose: how to read them, how many there
 * were of each, and, with options.spans, each with the span it fired in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"
#include "map/query.h"

static int text_compare(const struct event_text *x, const struct event_text *y)
{
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return memcmp(x->text, y->text, x->bytes);
}

/* Takes `text`. Of two for one id the lesser stays, whatever the order they come in. */
static int format_add(struct kevents *events, struct event_text text)
{
	size_t number = (size_t)map_get(&events->index, text.format);
	struct event_text *known = number ? &events->formats.data[number - 1] : NULL;
	int err;

	if (known) {
		char *other = text.text;

		if (text_compare(&text, known) < 0) {
			other = known->text;
			*known = text;
		}
		free(other);
		return 0;
	}
	err = vec_push(&events->formats, text);
	if (err)
		free(text.text);
	return err ? err : map_put(&events->index, text.format, (void *)events->formats.count);
}

static int format_apply(struct partial *p, const struct record_format *r)
{
	struct event_text text = {.format = r->format, .bytes = r->text_len};

	text.text = text_copy(r->text, r->text_len);
	return text.text ? format_add(&p->events, text) : -ENOMEM;
}

static int event_apply(struct partial *p, const struct record_event *r)
{
	static const struct split none;
	struct sum_of of = {.key = r->format};
	struct kevent event = {.time_ns = r->head.time_ns,
			       .tid = r->head.tid,
			       .pid = r->head.pid,
			       .format = r->format,
			       .bytes = r->payload_len,
			       .ctx = r->ctx};
	int err;

	if (p->options.state_only || !partial_in_range(p, event.time_ns))
		return 0;
	err = sums_add(&p->events.counts, &of, &none, 0, false);
	if (err || !partial_wants(p, &event.ctx, event.pid, event.tid))
		return err;
	event.payload = text_copy(r->payload, r->payload_len);
	if (!event.payload)
		return -ENOMEM;
	err = vec_push(&p->events.list, event);
	if (err)
		free(event.payload);
	return err;
}

int events_add(struct partial *p, const struct record_head *r)
{
	if (r->kind == RECORD_format)
		return format_apply(p, (const void *)r);
	return event_apply(p, (const void *)r);
}

int events_index(struct kevents *events)
{
	int err = 0;

	for (size_t i = 0; i < events->formats.count && !err; i++)
		err = map_put(&events->index, events->formats.data[i].format, (void *)(i + 1));
	return err;
}

int events_merge(struct kevents *left, struct kevents *right)
{
	int err = sums_merge(&left->counts, &right->counts);

	while (right->formats.count && !err)
		err = format_add(left, right->formats.data[--right->formats.count]);
	return err ? err : vec_move(&left->list, &right->list);
}

/* By span, those of none by thread; then by time. */
static int owner_compare(const struct kevent *x, const struct context *ctx, u32 tid)
{
	int order = memcmp(&x->ctx, ctx, sizeof(*ctx));

	if (order || !context_is_none(ctx))
		return order;
	return x->tid < tid ? -1 : x->tid > tid;
}

static int event_compare(const void *a, const void *b)
{
	const struct kevent *x = a, *y = b;
	int order = owner_compare(x, &y->ctx, y->tid);

	if (order)
		return order;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->format != y->format)
		return x->format < y->format ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return memcmp(x->payload, y->payload, x->bytes);
}

int events_sort(struct partial *p)
{
	struct kevents *events = &p->events;

	/* a span that nothing else tells of has no time: the thread shows its events */
	for (size_t i = 0; i < events->list.count; i++) {
		struct context *ctx = &events->list.data[i].ctx;

		if (!bytes_map_get(&p->span_index, ctx, sizeof(*ctx)))
			*ctx = (struct context){0};
	}
	if (events->list.count)
		qsort(events->list.data, events->list.count, sizeof(*events->list.data),
		      event_compare);
	return sums_sort(&events->counts);
}

void events_free(struct kevents *events)
{
	for (size_t i = 0; i < events->formats.count; i++)
		free(events->formats.data[i].text);
	for (size_t i = 0; i < events->list.count; i++)
		free(events->list.data[i].payload);
	vec_free(&events->formats);
	vec_free(&events->list);
	map_free(&events->index);
	sums_free(&events->counts);
}

/* ---- questions ---- */

const struct event_text *query_event_format(const struct partial *p, u32 format)
{
	size_t number = (size_t)map_get(&p->events.index, format);

	return number ? &p->events.formats.data[number - 1] : NULL;
}

const struct kevent *query_events(const struct partial *p, const struct context *ctx, u32 tid,
				  size_t *count)
{
	const struct kevent *list = p->events.list.data;
	size_t low = COUNT_BEFORE(&p->events.list, e, owner_compare(e, ctx, tid) < 0), end;

	for (end = low; end < p->events.list.count; end++) {
		if (owner_compare(&list[end], ctx, tid) != 0)
			break;
	}
	*count = end - low;
	return *count ? list + low : NULL;
}
