/* SPDX-License-Identifier: Apache-2.0 */
/* Records come: which are applied at once, and which wait for a neighbour. */
#include <errno.h>

#include "map/losses.h"
#include "map/partial.h"
#include "map/records.h"

/* Whether the order of the record among others matters: to lives, or to records of spans. */
static bool is_ordered(const struct record_head *r)
{
	switch (r->kind) {
	case RECORD_switch:
	case RECORD_waking:
	case RECORD_syscall:
	case RECORD_fault:
	case RECORD_fork:
	case RECORD_exec:
	case RECORD_exit:
	case RECORD_thread:
	case RECORD_cgroup_attach:
	case RECORD_gap:
	case RECORD_lost:
		return true;
	default:
		return record_is_of_span(r);
	}
}

/* A record older than its chunk waits for the neighbour that has the rest of that time. */
static int late_apply(struct partial *p, const struct record_head *r)
{
	if (!is_ordered(r))
		return partial_apply_now(p, r);
	if (r->time_ns >= p->late_ns) {
		if (!p->uneven)
			partial_streams(p, p->begin_ns, UINT64_MAX);
		return uneven_cut_keep(p, r, r->time_ns);
	}
	/* The neighbour did not wait for it. A record that holds from the begin on is applied
	 * there. */
	if (p->uneven && p->complete_ns <= p->begin_ns &&
	    (record_is_of_span(r) || r->kind == RECORD_lost))
		return uneven_cut_keep(p, r, p->begin_ns);
	return partial_apply_outside(p, r, p->begin_ns);
}

int partial_apply(struct partial *p, const struct record_head *r)
{
	if (__builtin_expect(r->time_ns < p->begin_ns, 0))
		return late_apply(p, r);
	if (!p->uneven || (r->time_ns >= p->begun_ns && r->time_ns < p->complete_ns))
		return partial_apply_now(p, r);
	/* a stream that is missing when the body begins is missing in the body, too */
	if (r->kind == RECORD_lost && r->time_ns < p->begun_ns &&
	    holes_follow(p, (const struct record_lost *)r))
		return -ENOMEM;
	return uneven_cut_keep(p, r, r->time_ns);
}
