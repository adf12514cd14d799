/* SPDX-License-Identifier: Apache-2.0 */
/* Relations of the clocks. */
#include "base/order.h"
#include "map/fact/kind.h"

static int clock_add(struct facts *f, const struct record_head *head)
{
	const struct record_clock *r = (const void *)head;
	struct fact_clock c = {.monotonic_ns = r->head.time_ns,
			       .realtime_ns = r->realtime_ns,
			       .boottime_ns = r->boottime_ns,
			       .reason = r->reason};

	return vec_push(&f->clocks, c);
}

static int clock_compare(const void *a, const void *b)
{
	const struct fact_clock *x = a, *y = b;

	COMPARE(x->monotonic_ns, y->monotonic_ns);
	COMPARE(x->realtime_ns, y->realtime_ns);
	COMPARE(x->boottime_ns, y->boottime_ns);
	COMPARE(x->reason, y->reason);
	return 0;
}

static void clock_archive(struct archive *a, void *fact)
{
	struct fact_clock *f = fact;

	archive_time(a, &f->monotonic_ns);
	archive_u64(a, &f->realtime_ns);
	archive_u64(a, &f->boottime_ns);
	archive_u32(a, &f->reason);
}

const struct fact_kind fact_kind_clock = {
	.add = clock_add, .compare = clock_compare, .archive = clock_archive};
