/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels from light threads (goroutines): a call belongs to the request that its light thread
 * received, or that the light thread received which made it.
 *
 * The second holds for the first call of a light thread only, unless it calls on several
 * connections. One that sends on a single connection is perhaps the writer of a pooled connection,
 * made by whom needed it first, and writes for others afterwards.
 */
#include "base/hash.h"
#include "request/link_internal.h"

struct light {
	u32 request;	/* that it received, or for which it was made */
	u32 connection; /* on which it called first */
	bool received;	/* the request */
	bool called, calls_on_several;
};

struct light_pass {
	struct link *l;
	struct link_process *p;
	VEC(struct light) lights;
	struct map numbers; /* of a light thread -> number + 1 */
	int err;
};

static struct light *light_of(struct light_pass *s, u64 id)
{
	uintptr_t number = (uintptr_t)map_get(&s->numbers, id);
	struct light fresh = {.request = NOBODY};

	if (number)
		return &s->lights.data[number - 1];
	s->err = vec_push(&s->lights, fresh);
	if (!s->err)
		s->err = map_put(&s->numbers, id, (void *)(uintptr_t)s->lights.count);
	return s->err ? NULL : &s->lights.data[s->lights.count - 1];
}

/* Finds the light threads that call on several connections. */
static void light_called(struct light_pass *s, u32 call)
{
	const struct exchange *x = link_exchange(s->l, call);
	const struct exchange_detail *d = link_detail(s->l, &x->caller);
	struct light *t = d->light ? light_of(s, d->light) : NULL;

	if (!t)
		return;
	t->calls_on_several |= t->called && t->connection != x->connection;
	t->connection = x->connection;
	t->called = true;
}

static void light_received(struct light_pass *s, u32 request)
{
	const struct exchange_detail *d = link_detail(s->l, &link_exchange(s->l, request)->server);
	struct light *t = d->light ? light_of(s, d->light) : NULL;

	if (!t)
		return;
	t->request = request;
	t->received = true;
}

/* The request for which a light thread was made: at which its maker works as it calls first. */
static u32 request_of_maker(struct light_pass *s, u64 maker, u64 at_ns)
{
	uintptr_t number = maker ? (uintptr_t)map_get(&s->numbers, maker) : 0;
	u32 request = number ? s->lights.data[number - 1].request : NOBODY;

	return link_is_open(s->l, request, at_ns) ? request : NOBODY;
}

static void light_calls(struct light_pass *s, const struct link_event *e)
{
	const struct exchange *x = link_exchange(s->l, e->number);
	const struct exchange_detail *d = link_detail(s->l, &x->caller);
	struct light *t = d->light ? light_of(s, d->light) : NULL;
	bool first;

	if (!t)
		return;
	first = t->called; /* the first pass set it, this one clears it */
	t->called = false;
	if (t->request == NOBODY && first)
		t->request = request_of_maker(s, d->light_maker, e->time_ns);
	else if (!t->received && !first && !t->calls_on_several)
		return;
	/* one that was made for a request may outlive it */
	if (t->request != NOBODY && (!t->received || link_is_open(s->l, t->request, e->time_ns)))
		link_label(s->l, e->number, t->request, EDGE_GOROUTINE);
}

int lights_label(struct link *l, struct link_process *p)
{
	struct light_pass s = {.l = l, .p = p};

	if (!p->has_lights)
		return 0;
	for (size_t i = p->begin; i < p->end && !s.err; i++) {
		if (l->events[i].kind == LINK_CALL)
			light_called(&s, l->events[i].number);
	}
	for (size_t i = p->begin; i < p->end && !s.err; i++) {
		if (l->events[i].kind == LINK_REQUEST)
			light_received(&s, l->events[i].number);
		else if (l->events[i].kind == LINK_CALL)
			light_calls(&s, &l->events[i]);
	}
	vec_free(&s.lights);
	map_free(&s.numbers);
	return s.err;
}
