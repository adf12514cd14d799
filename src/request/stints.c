/* SPDX-License-Identifier: Apache-2.0 */
#include "request/stints.h"

#include <errno.h>
#include <stdlib.h>

#include "base/group_sort.h"
#include "base/order.h"
#include "request/link.h"

/* In the order in which they happen if they have the same time. */
enum event_kind { EVENT_DONE, EVENT_REQUEST, EVENT_CALL, EVENT_ANSWER };

struct event {
	u64 time_ns;
	u32 host, tid;
	u32 owner;    /* the request for which it was done, or EDGE_ROOT: for none */
	u32 exchange; /* the one that was sent or received */
	u8 kind;
};

struct making {
	struct stints *out;
	const struct stints_input *in;
	VEC(struct event) events;
};

/* ---- events ---- */

static struct group_key event_key(const void *element)
{
	const struct event *e = element;

	return (struct group_key){e->host, e->tid};
}

static int event_compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->kind, y->kind);
	COMPARE(x->exchange, y->exchange);
	return 0;
}

static const struct group_order event_order = {sizeof(struct event), event_key, event_compare};

static int event_put(struct making *m, u32 process, const struct event *event)
{
	struct event e = *event;

	if (!e.tid || !e.time_ns)
		return 0;
	e.host = m->in->processes->list.data[process].host;
	return vec_push(&m->events, e);
}

static int exchange_events(struct making *m, u32 i)
{
	const struct exchange *x = &m->in->exchanges[i];
	u32 parent = m->in->parents[i];
	int err = 0;

	if (x->server.process) {
		err = event_put(m, x->server.process,
				&(struct event){x->server.first_ns, 0, x->server.first_tid, i, i,
						EVENT_REQUEST});
		err = err ? err
			  : event_put(m, x->server.process,
				      &(struct event){x->server.last_ns, 0, x->server.last_tid, i,
						      i, EVENT_ANSWER});
	}
	if (!err && x->caller.process) {
		err = event_put(m, x->caller.process,
				&(struct event){x->caller.first_ns, 0, x->caller.first_tid, parent,
						i, EVENT_CALL});
		err = err ? err
			  : event_put(m, x->caller.process,
				      &(struct event){x->caller.last_ns, 0, x->caller.last_tid,
						      parent, i, EVENT_DONE});
	}
	return err;
}

/* ---- stints ---- */

/* Adds a stint, within the time of the request. */
static int stint_add(struct making *m, u32 owner, u32 tid, u64 from_ns, u64 to_ns)
{
	const struct exchange_end *server;

	if (owner == EDGE_ROOT)
		return 0;
	server = &m->in->exchanges[owner].server;
	if (from_ns < server->first_ns)
		from_ns = server->first_ns;
	if (server->last_ns && to_ns > server->last_ns)
		to_ns = server->last_ns;
	if (from_ns >= to_ns)
		return 0;
	return vec_push(&m->out->list, ((struct stint){owner, tid, from_ns, to_ns}));
}

/* The time between two events of a thread that are of different requests. */
static int stint_change(struct making *m, const struct event *a, const struct event *b)
{
	const struct thread_times *times = &m->in->times[a->host];
	u32 before = a->kind == EVENT_ANSWER ? EDGE_ROOT : a->owner;
	u32 after = b->kind == EVENT_REQUEST ? EDGE_ROOT : b->owner;
	struct thread_sleep sleep;
	int err;

	if (before == EDGE_ROOT && after == EDGE_ROOT)
		return 0;
	sleep = thread_times_slept(times, a->tid, a->time_ns, b->time_ns);
	if (!sleep.end_ns) { /* all of it is of one of them */
		sleep.begin_ns = b->time_ns;
		sleep.end_ns = before == EDGE_ROOT ? a->time_ns : b->time_ns;
	}
	err = stint_add(m, before, a->tid, a->time_ns, sleep.begin_ns);
	return err ? err : stint_add(m, after, a->tid, sleep.end_ns, b->time_ns);
}

/* The time of a thread before its first event, and after its last one. */
static int stint_begin(struct making *m, const struct event *e)
{
	struct thread_sleep sleep;
	u64 from_ns;

	if (e->kind == EVENT_REQUEST || e->owner == EDGE_ROOT)
		return 0;
	from_ns = m->in->exchanges[e->owner].server.first_ns;
	sleep = thread_times_slept(&m->in->times[e->host], e->tid, from_ns, e->time_ns);
	return sleep.end_ns ? stint_add(m, e->owner, e->tid, sleep.end_ns, e->time_ns) : 0;
}

static int stint_end(struct making *m, const struct event *e)
{
	if (e->kind == EVENT_ANSWER || e->owner == EDGE_ROOT)
		return 0;
	return stint_add(m, e->owner, e->tid, e->time_ns,
			 thread_times_sleeps(&m->in->times[e->host], e->tid, e->time_ns));
}

static int stints_add(struct making *m)
{
	int err = 0;

	for (size_t i = 0; i < m->events.count && !err; i++) {
		const struct event *e = &m->events.data[i], *before = i ? e - 1 : NULL;
		bool first = !before || before->host != e->host || before->tid != e->tid;
		bool last = i + 1 == m->events.count || e[1].host != e->host || e[1].tid != e->tid;

		if (first)
			err = stint_begin(m, e);
		else if (before->owner == e->owner && before->kind != EVENT_ANSWER &&
			 e->kind != EVENT_REQUEST)
			err = stint_add(m, e->owner, e->tid, before->time_ns, e->time_ns);
		else
			err = stint_change(m, before, e);
		if (!first && e->kind == EVENT_DONE && before->kind == EVENT_CALL &&
		    before->exchange == e->exchange)
			m->out->waited[e->exchange] = 1;
		if (!err && last)
			err = stint_end(m, e);
	}
	return err;
}

static struct group_key stint_key(const void *element)
{
	return (struct group_key){((const struct stint *)element)->exchange, 0};
}

static int stint_compare(const void *a, const void *b)
{
	const struct stint *x = a, *y = b;

	COMPARE(x->exchange, y->exchange);
	COMPARE(x->from_ns, y->from_ns);
	COMPARE(x->tid, y->tid);
	COMPARE(x->to_ns, y->to_ns);
	return 0;
}

static const struct group_order stint_order = {sizeof(struct stint), stint_key, stint_compare};

int stints_make(struct stints *out, const struct stints_input *in)
{
	struct making m = {.out = out, .in = in};
	int err = 0;

	out->waited = calloc(in->count + 1, 1);
	if (!out->waited)
		return -ENOMEM;
	for (size_t i = 0; i < in->count && !err; i++)
		err = exchange_events(&m, (u32)i);
	err = err ? err : vec_group_sort(&m.events, &event_order);
	err = err ? err : stints_add(&m);
	err = err ? err : vec_group_sort(&out->list, &stint_order);
	vec_free(&m.events);
	return err;
}

void stints_free(struct stints *s)
{
	vec_free(&s->list);
	free(s->waited);
}

size_t stints_of(const struct stints *s, u32 exchange, const struct stint **first)
{
	size_t from = COUNT_BEFORE(&s->list, e, e->exchange < exchange), to = from;

	*first = s->list.count ? s->list.data + from : NULL;
	while (to < s->list.count && s->list.data[to].exchange == exchange)
		to++;
	return to - from;
}
