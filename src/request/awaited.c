/* SPDX-License-Identifier: Apache-2.0 */
#include "request/awaited.h"

#include <stdlib.h>

#include "base/order.h"
#include "request/link.h"

struct under_way {
	u64 from_ns, to_ns;
};

struct working {
	const struct stints_input *in;
	const struct stints *stints;
	u32 *firsts; /* of each exchange: its first call in `calls`; one more at the end */
	u32 *calls;  /* by request */
	VEC(struct under_way) under_way; /* of the request in hand */
};

static int under_way_compare(const void *a, const void *b)
{
	const struct under_way *x = a, *y = b;

	COMPARE(x->from_ns, y->from_ns);
	COMPARE(x->to_ns, y->to_ns);
	return 0;
}

/* Puts the calls of each request together. */
static bool calls_find(struct working *w)
{
	size_t count = w->in->count;
	u32 sum = 0;

	w->firsts = calloc(count + 2, sizeof(u32));
	w->calls = calloc(count + 1, sizeof(u32));
	if (!w->firsts || !w->calls)
		return false;
	for (size_t i = 0; i < count; i++)
		if (w->in->parents[i] != EDGE_ROOT)
			w->firsts[w->in->parents[i] + 1]++;
	for (size_t i = 0; i <= count; i++) {
		sum += w->firsts[i];
		w->firsts[i] = sum;
	}
	for (size_t i = 0; i < count; i++) /* the place is that of the next one, for a while */
		if (w->in->parents[i] != EDGE_ROOT)
			w->calls[w->firsts[w->in->parents[i]]++] = (u32)i;
	for (size_t i = count; i > 0; i--)
		w->firsts[i] = w->firsts[i - 1];
	w->firsts[0] = 0;
	return true;
}

/* The times in which calls of a request were under way, apart from each other and in order. */
static bool under_way_find(struct working *w, u32 request)
{
	const struct exchange_end *server = &w->in->exchanges[request].server;
	size_t kept = 0;

	w->under_way.count = 0;
	for (u32 i = w->firsts[request]; i < w->firsts[request + 1]; i++) {
		const struct exchange_end *caller = &w->in->exchanges[w->calls[i]].caller;
		struct under_way call = {caller->first_ns, caller->last_ns};

		if (call.from_ns < server->first_ns)
			call.from_ns = server->first_ns;
		if (!call.to_ns || call.to_ns > server->last_ns)
			call.to_ns = server->last_ns;
		if (call.from_ns < call.to_ns && vec_push(&w->under_way, call))
			return false;
	}
	if (w->under_way.count)
		qsort(w->under_way.data, w->under_way.count, sizeof(struct under_way),
		      under_way_compare);
	for (size_t i = 0; i < w->under_way.count; i++) {
		struct under_way *last = kept ? &w->under_way.data[kept - 1] : NULL;
		const struct under_way *next = &w->under_way.data[i];

		if (!last || next->from_ns > last->to_ns)
			w->under_way.data[kept++] = *next;
		else if (next->to_ns > last->to_ns)
			last->to_ns = next->to_ns;
	}
	w->under_way.count = kept;
	return true;
}

/* How much of an interval lies in no stint; `at` is the first one that may reach into it. */
static u64 outside_of(const struct under_way *of, const struct stint *list, size_t count,
		      size_t *at)
{
	u64 from_ns = of->from_ns, outside = 0;

	while (*at < count && list[*at].to_ns <= of->from_ns)
		++*at;
	for (size_t i = *at; i < count && list[i].from_ns < of->to_ns; i++) {
		if (list[i].from_ns > from_ns)
			outside += list[i].from_ns - from_ns;
		if (list[i].to_ns > from_ns)
			from_ns = list[i].to_ns;
	}
	return from_ns < of->to_ns ? outside + of->to_ns - from_ns : outside;
}

static bool request_find(struct working *w, u32 request, struct awaited *out)
{
	const struct stint *list;
	size_t count, at = 0;

	if (w->firsts[request] == w->firsts[request + 1])
		return true;
	if (!under_way_find(w, request))
		return false;
	count = stints_of(w->stints, request, &list);
	for (size_t i = 0; i < w->under_way.count; i++) {
		const struct under_way *call = &w->under_way.data[i];

		out->ns += call->to_ns - call->from_ns;
		out->off_thread_ns += outside_of(call, list, count, &at);
	}
	return true;
}

struct awaited *awaited_find(const struct stints_input *in, const struct stints *stints)
{
	struct working w = {.in = in, .stints = stints};
	struct awaited *out = calloc(in->count + 1, sizeof(*out));
	bool done = out && calls_find(&w);

	for (u32 i = 0; i < in->count && done; i++)
		done = request_find(&w, i, &out[i]);
	free(w.firsts);
	free(w.calls);
	vec_free(&w.under_way);
	if (done)
		return out;
	free(out);
	return NULL;
}
