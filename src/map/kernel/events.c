/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel tracepoints that the user chose: their formats, how many events of each there were, and,
 * with options.spans, each event with the span in which it fired.
 */
#include "map/kernel/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/fact/query.h"
#include "map/kernel/call_sums.h"
#include "map/kernel/kspan_filter.h"
#include "map/partial.h"
#include "map/span/holders.h"

static int text_compare(const struct event_text *x, const struct event_text *y)
{
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->text, y->text, x->bytes);
}

/* Takes `text`. If an id has two formats the lesser stays, in whatever order they come. */
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
	const struct sum_of of = {.key = r->format,
				  .pid = sums_tell(p, SUM_BY_PROCESS) ? r->head.pid : 0};
	const struct sum_one one = {0};
	struct kevent event = {.time_ns = r->head.time_ns,
			       .tid = r->head.tid,
			       .pid = r->head.pid,
			       .format = r->format,
			       .bytes = r->payload_len,
			       .ctx = r->ctx};
	int err;

	if (p->options.state_only || !partial_in_range(p, event.time_ns))
		return 0;
	err = sums_choose(p, r->head.pid, r->head.tid)
		      ? sums_add(&p->events.counts, &of, &none, &one)
		      : 0;
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

/* By span; events under no span by life, and by tid where no life tells of the thread. */
static int owner_compare(const struct kevent *x, const struct kevent *y)
{
	int order = memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));

	if (order || !context_is_none(&x->ctx))
		return order;
	COMPARE(x->life, y->life);
	if (!x->life)
		COMPARE(x->tid, y->tid);
	return 0;
}

static int event_compare(const void *a, const void *b)
{
	const struct kevent *x = a, *y = b;
	int order = owner_compare(x, y);

	if (order)
		return order;
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->tid, y->tid);
	COMPARE(x->format, y->format);
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->payload, y->payload, x->bytes);
}

/*
 * Some events name a thread that has ended, as when the kernel frees it, others a thread that is
 * just made: the owner is the last life that had the number before, else the first one after.
 */
static void owner_find(const struct partial *p, const struct holders *holders, struct kevent *event)
{
	const struct holder *holder;

	if (bytes_map_get(&p->span_index, &event->ctx, sizeof(event->ctx)))
		return;
	/* a span that only events name has no time: the thread shows its events */
	event->ctx = (struct context){0};
	holder = event->tid ? holders_find(holders, event->tid, event->time_ns) : NULL;
	event->life = holder ? holder->life + 1 : 0;
}

int events_sort(struct partial *p)
{
	struct kevents *events = &p->events;
	struct holders holders = {0};
	int err = 0;

	if (events->list.count) {
		err = holders_fill(&holders, p);
		for (size_t i = 0; i < events->list.count && !err; i++)
			owner_find(p, &holders, &events->list.data[i]);
		qsort(events->list.data, events->list.count, sizeof(*events->list.data),
		      event_compare);
	}
	holders_free(&holders);
	return err ? err : sums_sort(&events->counts);
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

/* The events with the owner of `like`, which has no payload. */
static const struct kevent *events_of(const struct partial *p, const struct kevent *like,
				      size_t *count)
{
	const struct kevent *list = p->events.list.data;
	size_t low = COUNT_BEFORE(&p->events.list, e, owner_compare(e, like) < 0), end;

	for (end = low; end < p->events.list.count; end++) {
		if (owner_compare(&list[end], like) != 0)
			break;
	}
	*count = end - low;
	return *count ? list + low : NULL;
}

const struct kevent *query_span_events(const struct partial *p, const struct context *ctx,
				       size_t *count)
{
	return events_of(p, &(struct kevent){.ctx = *ctx}, count);
}

const struct kevent *query_thread_events(const struct partial *p, size_t life, u32 tid,
					 size_t *count)
{
	*count = 0;
	return life || tid ? events_of(p, &(struct kevent){.life = life, .tid = tid}, count) : NULL;
}
