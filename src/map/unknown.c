/* SPDX-License-Identifier: Apache-2.0 */
#include "map/unknown.h"

#include "base/order.h"
#include "map/partial.h"

const char *unknown_reason_name(unsigned int number)
{
	static const char *const names[] = {
#define U(name, value) #name,
		UNKNOWN_REASONS(U)
#undef U
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == UNKNOWN_REASONS_COUNT, "all of them");

	return number < UNKNOWN_REASONS_COUNT ? names[number] : NULL;
}

int unknown_sort(struct partial *p)
{
	int err = 0;

	p->losses_joined.count = 0;
	for (size_t i = 0; i < p->losses.count && !err; i++) {
		const struct record_lost *lost = &p->losses.data[i];

		err = vec_push(&p->losses_joined,
			       ((struct interval){lost->begin_ns, lost->head.time_ns, 0}));
	}
	if (!err)
		intervals_join(&p->losses_joined);
	return err;
}

static bool overlaps(const struct intervals *joined, const struct unknown_of *of, u32 owner)
{
	const struct interval in = {of->begin_ns, of->end_ns, owner};

	return intervals_around(joined, in).end_ns;
}

/*
 * Whether the time begins with the first life of the thread, whose begin was not seen: it was there
 * when the recording began, or went on behind a gap.
 */
static unsigned int begin_reason(const struct partial *p, const struct unknown_of *of)
{
	size_t at = COUNT_BEFORE(&p->lives, l, (*l)->tid < of->tid);
	const struct life *l = at < p->lives.count ? p->lives.data[at] : NULL;

	if (!of->tid)
		return of->begin_ns <= p->from_ns ? UNKNOWN_begin : 0;
	if (!l || l->tid != of->tid || l->born || of->begin_ns > l->origin_ns)
		return 0;
	return l->severed ? UNKNOWN_gap : UNKNOWN_begin;
}

unsigned int unknown_reasons(const struct partial *p, const struct unknown_of *of)
{
	u32 filters = partial_filters(p, of->begin_ns, of->end_ns);
	unsigned int reasons = 0;

	/* losses beside a gap depend on how the streams were cut there */
	if (overlaps(&p->gaps_joined, of, 0))
		reasons |= UNKNOWN_gap;
	else if (overlaps(&p->losses_joined, of, 0) ||
		 (of->span && of->pid && overlaps(&p->span_losses, of, of->pid)))
		reasons |= UNKNOWN_loss;
	if (filters & FILTER_SPANS || (of->span && filters & FILTER_CALLS))
		reasons |= UNKNOWN_filter;
	reasons |= begin_reason(p, of);
	return reasons ? reasons : UNKNOWN_untold;
}
