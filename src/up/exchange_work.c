/* SPDX-License-Identifier: Apache-2.0 */
#include "up/exchange_work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

/* The time of a thread, as it counts for an end. */
struct work_time {
	u32 host, tid;
	u64 from_ns, to_ns;
};

/* ---- the longest ones ---- */

static int longer_compare(const void *a, const void *b)
{
	const struct kspan *x = a, *y = b;

	COMPARE(y->end_ns - y->begin_ns, x->end_ns - x->begin_ns);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->tid, y->tid);
	COMPARE(x->kind, y->kind);
	return 0;
}

static void longest_keep(struct exchange_work *w)
{
	if (w->list.count > 1)
		qsort(w->list.data, w->list.count, sizeof(*w->list.data), longer_compare);
	while (w->list.count > EXCHANGE_WORK_MAX) {
		const struct kspan *k = &w->list.data[--w->list.count];

		w->more_count++;
		w->more_ns += k->end_ns - k->begin_ns;
	}
}

static int time_add(struct exchange_work *w, const struct requests *r, const struct work_time *of)
{
	const struct thread_times *t = &r->times[of->host];
	struct thread_numbers within = thread_times_within(t, of->tid, of->from_ns, of->to_ns);
	int err = 0;

	for (u32 at = within.first; at < within.end && !err; at++) {
		struct kspan k;

		kspans_get(&t->p->kspans, t->order.data[at], &k);
		if (w->list.count >= 2 * (size_t)EXCHANGE_WORK_MAX)
			longest_keep(w);
		err = vec_push(&w->list, k);
	}
	return err;
}

/* ---- whose it is ---- */

static u64 wait_key(u32 tid, u64 begin_ns)
{
	return hash_pair(tid, begin_ns);
}

/* Whether the thread of the caller had nothing to do between the call and its answer. */
static bool is_awaited(const struct requests *r, u32 exchange)
{
	const struct exchange *x = &r->exchanges.data[exchange];

	return r->stints.waited[exchange] && x->caller.first_tid == x->caller.last_tid;
}

int exchange_work_begin(struct exchange_work *w, const struct requests *r,
			const struct request_trace *t)
{
	int err = 0;

	if (w->waits.count) {
		map_free(&w->waits);
		w->waits = (struct map){0};
	}
	for (size_t i = t->first; i < t->end && !err; i++) {
		const struct request_span *s = &r->spans.data[i];
		const struct exchange_end *caller;

		if (s->kind != REQUEST_CLIENT || !is_awaited(r, s->of))
			continue;
		caller = &r->exchanges.data[s->of].caller;
		err = map_put(&w->waits, wait_key(caller->first_tid, caller->first_ns), PRESENT);
	}
	return err;
}

static int server_find(struct exchange_work *w, const struct requests *r, u32 exchange)
{
	const struct exchange *x = &r->exchanges.data[exchange];
	struct work_time of = {.host = r->processes.list.data[x->server.process].host};
	const struct stint *list;
	size_t count = stints_of(&r->stints, exchange, &list);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (map_get(&w->waits, wait_key(list[i].tid, list[i].from_ns)))
			continue;
		of.tid = list[i].tid;
		of.from_ns = list[i].from_ns;
		of.to_ns = list[i].to_ns;
		err = time_add(w, r, &of);
	}
	return err;
}

static int client_find(struct exchange_work *w, const struct requests *r, u32 exchange)
{
	const struct exchange *x = &r->exchanges.data[exchange];
	const struct request_bounds b = request_span_bounds(r, exchange, false);
	const struct work_time of = {.host = r->processes.list.data[x->caller.process].host,
				     .tid = x->caller.first_tid,
				     .from_ns = b.begin_ns,
				     .to_ns = b.end_ns};

	return is_awaited(r, exchange) ? time_add(w, r, &of) : 0;
}

int exchange_work_find(struct exchange_work *w, const struct requests *r,
		       const struct request_span *of)
{
	int err;

	w->list.count = 0;
	w->more_count = w->more_ns = 0;
	err = of->kind == REQUEST_SERVER ? server_find(w, r, of->of) : client_find(w, r, of->of);
	longest_keep(w);
	return err;
}

void exchange_work_free(struct exchange_work *w)
{
	vec_free(&w->list);
	map_free(&w->waits);
}
