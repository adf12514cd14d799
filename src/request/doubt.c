/* SPDX-License-Identifier: Apache-2.0 */
#include "request/doubt.h"

#include "base/order.h"

/*
 * So many percent of the probability are left where a loss lies on the way, by the evidence and by
 * whether both ways agree. A hand-off that is missing leaves a thread at an older request, a call
 * that is missing moves the order of others. They were read off services whose ledgers told the
 * truth, recorded with too little room at 1, 8 and 64 requests at once (tests/e2e/requests).
 */
static const struct {
	u32 agree, differ;
} left_percent[] = {
	[EDGE_GIVEN] = {100, 100},   [EDGE_BYTES] = {100, 100},	 [EDGE_GOROUTINE] = {92, 92},
	[EDGE_CONTEXT] = {100, 100}, [EDGE_THREAD] = {84, 84},	 [EDGE_WAKE] = {70, 70},
	[EDGE_CONNECT] = {93, 60},   [EDGE_SEQUENCE] = {96, 74}, [EDGE_ORDER] = {86, 50},
	[EDGE_TIMING] = {100, 100},
};

_Static_assert(sizeof(left_percent) / sizeof(*left_percent) == EDGE_EVIDENCE_COUNT,
	       "each evidence has its row");

/* Whether records of a host were lost in a time. */
static bool is_lost_within(const struct partial *p, u64 from_ns, u64 to_ns)
{
	size_t n = COUNT_BEFORE(&p->losses_joined, e, e->end_ns <= from_ns);

	return n < p->losses_joined.count && p->losses_joined.data[n].begin_ns < to_ns;
}

static bool is_in_doubt(const struct requests *r, const struct edge *e, const struct exchange *call)
{
	const struct exchange *request = &r->exchanges.data[e->parent];
	u32 host = r->processes.list.data[call->caller.process].host;

	return is_lost_within(r->hosts[host].p, request->server.first_ns, call->caller.first_ns);
}

void edges_doubt(struct requests *r)
{
	for (size_t i = 0; i < r->exchanges.count; i++) {
		struct edge *e = &r->edges[i];
		u32 percent;

		if (e->parent >= r->exchanges.count || !r->exchanges.data[i].caller.process ||
		    !is_in_doubt(r, e, &r->exchanges.data[i]))
			continue;
		percent = e->agrees ? left_percent[e->evidence].agree
				    : left_percent[e->evidence].differ;
		e->probability_ppm = (u32)((u64)e->probability_ppm * percent / 100);
	}
}
