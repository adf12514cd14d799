/* SPDX-License-Identifier: Apache-2.0 */
#include "request/published.h"

#include <errno.h>
#include <string.h>

#include "base/group_sort.h"
#include "base/order.h"

/* A span had a thread in [begin_ns, end_ns]. */
struct hold {
	u64 begin_ns, end_ns;
	u32 host, tid, app;
};

struct finding {
	VEC(struct hold) holds; /* by host, thread, begin */
	struct exchange_details *details;
	const struct request_apps *apps;
	const struct processes *processes;
};

static struct group_key hold_key(const void *element)
{
	const struct hold *h = element;

	return (struct group_key){h->host, h->tid};
}

static int hold_compare(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->tid, y->tid);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	COMPARE(x->app, y->app);
	return 0;
}

static const struct group_order hold_order = {sizeof(struct hold), hold_key, hold_compare};

static int share_holds(struct finding *f, u32 app, const struct span_share *share)
{
	struct hold hold = {share->begin_ns, share->end_ns, f->apps->list.data[app].host,
			    share->tid, app};
	int err = share->holds.count ? 0 : vec_push(&f->holds, hold);

	for (size_t i = 0; i < share->holds.count && !err; i++) {
		hold.begin_ns = share->holds.data[i].begin_ns;
		hold.end_ns = share->holds.data[i].end_ns;
		err = vec_push(&f->holds, hold);
	}
	return err;
}

/* By the records of the application where there are any, else by what was seen published. */
static int holds_make(struct finding *f)
{
	int err = 0;

	for (u32 i = 0; i < f->apps->list.count && !err; i++) {
		const struct partial *p = f->processes->hosts[f->apps->list.data[i].host].p;
		const struct app_span *span = node_app(p, request_app_node(f->apps, i));
		const struct span_shares *shares;

		if (!span)
			continue;
		shares = span->active.list.count ? &span->active : &span->seen;
		for (size_t n = 0; n < shares->list.count && !err; n++)
			err = share_holds(f, i, &shares->list.data[n]);
	}
	return err ? err : vec_group_sort(&f->holds, &hold_order);
}

/* The app that had the thread then; NO_APP: none. */
static u32 held_at(const struct finding *f, u32 host, u32 tid, u64 time_ns)
{
	size_t n = COUNT_BEFORE(
		&f->holds, e,
		e->host < host || (e->host == host &&
				   (e->tid < tid || (e->tid == tid && e->begin_ns <= time_ns))));
	const struct hold *last = n ? &f->holds.data[n - 1] : NULL;
	bool held = last && last->host == host && last->tid == tid && last->end_ns >= time_ns;

	return held ? last->app : NO_APP;
}

static int end_published(struct finding *f, struct exchange_end *end, u64 time_ns, u32 tid)
{
	u32 host = f->processes->list.data[end->process].host;
	u32 app = held_at(f, host, tid, time_ns);
	const struct node *node, *top;
	struct exchange_detail *detail;
	int err;
	u64 id;

	if (app == NO_APP)
		return 0;
	err = end->detail ? 0 : exchange_details_add(f->details, &end->detail);
	if (err)
		return err;
	detail = &f->details->list.data[end->detail];
	f->details->apps.data[end->detail] = app;
	node = request_app_node(f->apps, app);
	top = request_app_node(f->apps, f->apps->list.data[app].top);
	id = __builtin_bswap64(top->id); /* as it stands in records */
	memcpy(detail->trace, node->trace, sizeof(detail->trace));
	memcpy(detail->root, &id, sizeof(detail->root));
	return 0;
}

int exchanges_published(struct exchange_list *list, struct exchange_details *details,
			const struct request_apps *apps, const struct processes *processes)
{
	struct finding f = {.details = details, .apps = apps, .processes = processes};
	int err = holds_make(&f);

	for (size_t i = 0; i < list->count && f.holds.count && !err; i++) {
		struct exchange *x = &list->data[i];

		if (x->caller.process)
			err = end_published(&f, &x->caller, x->caller.first_ns,
					    x->caller.first_tid);
		if (!err && x->server.process && x->server.last_ns)
			err = end_published(&f, &x->server, x->server.last_ns, x->server.last_tid);
	}
	vec_free(&f.holds);
	return err;
}
