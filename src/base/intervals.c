/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intervals.h"

#include <stdlib.h>

#include "base/order.h"

static int interval_compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	COMPARE(x->owner, y->owner);
	COMPARE(x->begin_ns, y->begin_ns);
	COMPARE(x->end_ns, y->end_ns);
	return 0;
}

void intervals_join(struct intervals *list)
{
	size_t last = 0;

	if (!list->count)
		return;
	qsort(list->data, list->count, sizeof(*list->data), interval_compare);
	for (size_t i = 1; i < list->count; i++) {
		const struct interval *next = &list->data[i];
		struct interval *to = &list->data[last];

		if (next->owner != to->owner || next->begin_ns > to->end_ns)
			list->data[++last] = *next;
		else if (next->end_ns > to->end_ns)
			to->end_ns = next->end_ns;
	}
	list->count = last + 1;
}

struct interval intervals_around(const struct intervals *joined, struct interval in)
{
	const struct interval *list = joined->data;
	size_t first = COUNT_BEFORE(joined, e,
				    e->owner < in.owner ||
					    (e->owner == in.owner && e->end_ns <= in.begin_ns));
	size_t after = COUNT_BEFORE(joined, e,
				    e->owner < in.owner ||
					    (e->owner == in.owner && e->begin_ns < in.end_ns));

	if (first >= after)
		return (struct interval){.owner = in.owner};
	return (struct interval){list[first].begin_ns, list[after - 1].end_ns, in.owner};
}
