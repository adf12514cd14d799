/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that applications give: a call and a request of one process for which the same context was
 * published. The topmost span of the process decides. If it is not known at one of the two, the
 * trace does, where one request alone has it. A child process belongs to the request for which it
 * was made.
 */
#include "base/hash.h"
#include "base/order.h"
#include "request/link_internal.h"

#define WALK_MOST 64 /* requests of one trace that are open in a process */

struct context_pass {
	struct link *l;
	struct map newest; /* of the requests of a trace: its number + 1 */
	u32 *older;	   /* by number of the request: the one of the same trace before it */
};

static u64 trace_hash(const struct exchange_detail *d)
{
	return hash_bytes(d->trace, sizeof(d->trace));
}

static int context_received(struct context_pass *s, u32 request)
{
	const struct exchange_detail *d = link_detail(s->l, &link_exchange(s->l, request)->server);
	u64 key = trace_hash(d);

	if (!detail_has_context(d))
		return 0;
	s->older[s->l->items[request].place] = (u32)(uintptr_t)map_get(&s->newest, key);
	return map_put(&s->newest, key, (void *)((uintptr_t)request + 1));
}

static void context_calls(struct context_pass *s, const struct link_event *e)
{
	const struct link *l = s->l;
	const struct exchange_detail *d = link_detail(l, &link_exchange(l, e->number)->caller);
	u32 at, alone = NOBODY, open = 0, steps = 0;

	if (!detail_has_context(d))
		return;
	for (at = (u32)(uintptr_t)map_get(&s->newest, trace_hash(d)); at && steps < WALK_MOST;
	     at = s->older[l->items[at - 1].place], steps++) {
		const struct exchange_detail *r = link_detail(l, &link_exchange(l, at - 1)->server);

		if (!link_is_open(l, at - 1, e->time_ns) ||
		    memcmp(r->trace, d->trace, sizeof(d->trace)) != 0)
			continue;
		if (memcmp(r->root, d->root, sizeof(d->root)) == 0) {
			link_label(s->l, e->number, at - 1, EDGE_GIVEN);
			return;
		}
		alone = at - 1;
		open++;
	}
	if (open == 1)
		link_label(s->l, e->number, alone, EDGE_GIVEN);
}

int contexts_label(struct link *l, struct link_process *p)
{
	struct context_pass s = {.l = l};
	int err = 0;

	if (!p->has_contexts || !p->requests)
		return 0;
	s.older = calloc(p->requests, sizeof(*s.older));
	if (!s.older)
		return -ENOMEM;
	for (size_t i = p->begin; i < p->end && !err; i++) {
		if (l->events[i].kind == LINK_REQUEST)
			err = context_received(&s, l->events[i].number);
		else if (l->events[i].kind == LINK_CALL)
			context_calls(&s, &l->events[i]);
	}
	free(s.older);
	map_free(&s.newest);
	return err;
}

static int fork_compare(const void *a, const void *b)
{
	const struct request_fork *x = *(const struct request_fork *const *)a;
	const struct request_fork *y = *(const struct request_fork *const *)b;

	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->tid, y->tid);
	return 0;
}

/* A child of a child, too, belongs to the request, if its parent had received none by then. */
static void inherit(struct link *l, const struct request_fork *f)
{
	struct link_process *parent, *child;

	if (f->parent >= l->in->process_count || f->child >= l->in->process_count)
		return;
	parent = &l->processes[f->parent];
	child = &l->processes[f->child];
	if (child->inherited == NOBODY && f->time_ns < parent->first_request_ns)
		child->inherited = parent->inherited;
}

int forks_label(struct link *l)
{
	const struct request_fork **forks;

	if (!l->in->fork_count)
		return 0;
	forks = malloc(l->in->fork_count * sizeof(*forks));
	if (!forks)
		return -ENOMEM;
	for (size_t i = 0; i < l->in->fork_count; i++)
		forks[i] = &l->in->forks[i];
	qsort(forks, l->in->fork_count, sizeof(*forks), fork_compare);
	for (size_t i = 0; i < l->in->fork_count; i++)
		inherit(l, forks[i]);
	free(forks);
	for (size_t i = 0; i < l->in->process_count; i++) {
		const struct link_process *p = &l->processes[i];

		for (size_t n = p->begin; n < p->end && p->inherited != NOBODY; n++) {
			const struct link_event *e = &l->events[n];

			if (e->kind == LINK_REQUEST)
				break;
			if (e->kind == LINK_CALL && link_is_open(l, p->inherited, e->time_ns) &&
			    l->items[e->number].request == NOBODY)
				link_label(l, e->number, p->inherited, EDGE_THREAD);
		}
	}
	return 0;
}
