/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/request_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/group_sort.h"
#include "base/order.h"

/* Page faults are recorded without --event. */
#define FAULT_OF_USER "exceptions:page_fault_user"
#define FAULT_OF_KERNEL "exceptions:page_fault_kernel"

/* ---- collecting ---- */

static struct group_key event_key(const void *element)
{
	const struct request_event *e = element;

	return (struct group_key){e->host, e->tid};
}

static int event_compare(const void *a, const void *b)
{
	const struct request_event *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->name, y->name);
	return 0;
}

static const struct group_order event_order = {sizeof(struct request_event), event_key,
					       event_compare};

/* The number of a name, a new one if it is new. 0 or -ENOMEM. */
static int name_find(struct request_events *e, const char *name, u32 *number)
{
	char *copy;
	int err;

	for (*number = 0; *number < e->names.count; ++*number)
		if (strcmp(e->names.data[*number], name) == 0)
			return 0;
	copy = strdup(name);
	err = copy ? vec_push(&e->names, copy) : -ENOMEM;
	if (err)
		free(copy);
	return err;
}

/* The formats of a host: their text begins with the name. */
static int formats_name(struct request_events *e, const struct kevents *from, u32 *names)
{
	int err = 0;

	for (size_t i = 0; i < from->formats.count && !err; i++) {
		const struct event_text *text = &from->formats.data[i];
		char name[256];
		size_t length = strnlen(text->text, text->bytes);

		length = length < sizeof(name) ? length : sizeof(name) - 1;
		memcpy(name, text->text, length);
		name[length] = '\0';
		err = name_find(e, name, &names[i]);
	}
	return err;
}

static int host_add(struct request_events *e, const struct partial *p, u32 host)
{
	u32 *names = calloc(p->events.formats.count + 1, sizeof(*names));
	int err = names ? formats_name(e, &p->events, names) : -ENOMEM;

	for (size_t i = 0; i < p->events.list.count && !err; i++) {
		const struct kevent *k = &p->events.list.data[i];
		size_t format = (size_t)map_get(&p->events.index, k->format);

		if (format)
			err = vec_push(&e->list, ((struct request_event){k->time_ns, host, k->tid,
									 names[format - 1]}));
	}
	free(names);
	return err;
}

int request_events_make(struct request_events *out, const struct request_host *hosts, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		if (hosts[i].p->events.list.count)
			err = host_add(out, hosts[i].p, (u32)i);
	return err || !out->list.count ? err : vec_group_sort(&out->list, &event_order);
}

void request_events_free(struct request_events *e)
{
	for (size_t i = 0; i < e->names.count; i++)
		free(e->names.data[i]);
	vec_free(&e->names);
	vec_free(&e->list);
}

/* ---- counting ---- */

struct counting {
	const struct request_events *events;
	const struct thread_times *times;
	u32 host;
	u64 *of_name;  /* how many of each name; NULL: there are no names */
	u64 faults[2]; /* of the kernel, of the user */
};

static void stint_count(struct counting *c, const struct stint *s)
{
	const struct request_event from = {s->from_ns, c->host, s->tid, 0};
	size_t at = COUNT_BEFORE(&c->events->list, e, event_compare(e, &from) < 0);
	struct thread_numbers within;

	for (; at < c->events->list.count; at++) {
		const struct request_event *e = &c->events->list.data[at];

		if (e->host != c->host || e->tid != s->tid || e->time_ns >= s->to_ns)
			break;
		c->of_name[e->name]++;
	}
	if (!c->times->faults)
		return;
	within = thread_times_within(c->times, s->tid, s->from_ns, s->to_ns);
	for (u32 i = within.first; i < within.end; i++) {
		struct kspan k;

		kspans_get(&c->times->p->kspans, c->times->order.data[i], &k);
		if (k.kind == KSPAN_FAULT)
			c->faults[(k.args[2] & FAULT_USER) != 0]++;
	}
}

/* Adds what was counted as an attribute with a value for each name. */
static void counts_tell(struct span_builder *b, const struct counting *c)
{
	struct attribute map = {.key = "events.count", .type = VALUE_MAP};
	VEC(struct attribute) kept = {0};

	/* the attributes of the span wait while those of the object are collected */
	if (vec_reserve(&kept, b->current.count + 1)) {
		b->failed = true;
		return;
	}
	memcpy(kept.data, b->current.data, b->current.count * sizeof(struct attribute));
	kept.count = b->current.count;
	b->current.count = 0;
	if (c->faults[1])
		builder_integer(b, FAULT_OF_USER, (s64)c->faults[1]);
	if (c->faults[0])
		builder_integer(b, FAULT_OF_KERNEL, (s64)c->faults[0]);
	for (size_t i = 0; i < c->events->names.count; i++)
		if (c->of_name[i])
			builder_integer(b, c->events->names.data[i], (s64)c->of_name[i]);
	map.items = builder_take(b, &map.count);
	for (size_t i = 0; i < kept.count; i++)
		if (vec_push(&b->current, kept.data[i]))
			b->failed = true;
	if (map.count && vec_push(&b->current, map))
		b->failed = true;
	vec_free(&kept);
	b->span.attributes = b->current.data;
	b->span.attributes_count = b->current.count;
}

void request_events_tell(struct span_builder *b, const struct request_events *e,
			 const struct requests *r, u32 exchange)
{
	u32 host = r->processes.list.data[r->exchanges.data[exchange].server.process].host;
	struct counting c = {.events = e, .times = &r->times[host], .host = host};
	const struct stint *list;
	size_t count = stints_of(&r->stints, exchange, &list);

	if (!e->names.count && !c.times->faults)
		return;
	c.of_name = calloc(e->names.count + 1, sizeof(*c.of_name));
	if (!c.of_name) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		stint_count(&c, &list[i]);
	counts_tell(b, &c);
	free(c.of_name);
}
