/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a span of which the begin was not seen: what of both books counts, and once. */
#include "map/tree.h"
#include "one_thread.h"

/* One that took 1000 ns, with outer published. */
static void call(struct partial *p, u64 end_ns)
{
	struct record_syscall r = {
		.head = head(RECORD_syscall, end_ns), .nr = 39, .duration_ns = 1000, .ctx = outer};

	apply(p, &r);
}

/* Of outer, when all is together. */
static struct span_time time_of_outer(struct partial *p)
{
	struct span_time times[4] = {0}, found = {0};

	partial_cover(p, 1000, 9000);
	CHECK_EQ(partial_finish(p), 0);
	CHECK(p->spans.count <= 4);
	CHECK_EQ(span_times(p, times), 0);
	for (size_t i = 0; i < p->spans.count; i++)
		if (context_equal(&p->spans.data[i]->ctx, &outer))
			found = times[i];
	partial_free(p);
	return found;
}

TEST(what_was_only_seen_published_counts)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	call(p, 3000);
	call(p, 5000);
	span_ends(p, 6000, &outer, NULL);
	t = time_of_outer(p);
	CHECK(t.begin_soft && !t.end_soft);
	CHECK_EQ(t.threads, 1);
	CHECK(t.split.ns[SPLIT_kernel] >= 1000);
}

TEST(what_both_books_tell_counts_once)
{
	struct partial *p = partial_new(NULL);
	struct span_time t;

	span_ends(p, 2000, &inner, &outer);
	call(p, 4000);
	call(p, 5000);
	span_ends(p, 6000, &outer, NULL);
	t = time_of_outer(p);
	CHECK_EQ(t.begin_ns, 2000);
	CHECK_EQ(t.end_ns, 6000);
	CHECK_EQ(t.split.ns[SPLIT_kernel], 2000);
	CHECK_EQ(t.split.ns[SPLIT_user], 2000);
	CHECK_EQ(split_total(&t.split), 4000);
}

TEST_MAIN()
