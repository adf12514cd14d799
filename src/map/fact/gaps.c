/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps may overlap: a record tells one, and a reader of chunks another. */
#include "map/fact/gaps.h"

#include <stdlib.h>

#include "base/order.h"
#include "map/partial.h"

static int gap_compare(const void *a, const void *b)
{
	const struct record_gap *x = a, *y = b;

	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->head.time_ns, y->head.time_ns);
	return 0;
}

static int end_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	COMPARE(*x, *y);
	return 0;
}

int gaps_sort(struct partial *p)
{
	int err = 0;

	p->gap_ends.count = p->gaps_joined.count = 0;
	for (size_t i = 0; i < p->gaps.count && !err; i++) {
		const struct record_gap *gap = &p->gaps.data[i];

		err = vec_push(&p->gap_ends, gap->head.time_ns);
		err = err ? err
			  : vec_push(&p->gaps_joined,
				     (struct interval){.begin_ns = gap->begin_ns,
						       .end_ns = gap->head.time_ns});
	}
	if (err || !p->gaps.count)
		return err;
	qsort(p->gaps.data, p->gaps.count, sizeof(*p->gaps.data), gap_compare);
	qsort(p->gap_ends.data, p->gap_ends.count, sizeof(*p->gap_ends.data), end_compare);
	intervals_join(&p->gaps_joined);
	return 0;
}

u64 gaps_end_before(const struct partial *p, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&p->gap_ends, end, *end <= time_ns);

	return n ? p->gap_ends.data[n - 1] : 0;
}

u64 gaps_end_after(const struct partial *p, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&p->gap_ends, end, *end <= time_ns);

	return n < p->gap_ends.count ? p->gap_ends.data[n] : UINT64_MAX;
}

u64 gaps_begin_after(const struct partial *p, u64 time_ns)
{
	size_t n = COUNT_BEFORE(&p->gaps, gap, gap->begin_ns < time_ns);

	return n < p->gaps.count ? p->gaps.data[n].begin_ns : UINT64_MAX;
}

u64 gap_around(const struct partial *p, u64 time_ns)
{
	const struct interval at = {.begin_ns = time_ns, .end_ns = time_ns};

	return intervals_around(&p->gaps_joined, at).begin_ns;
}
