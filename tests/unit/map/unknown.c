/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for which time is unknown. */
#include "map/unknown.h"

#include <string.h>

#include "apply.h"

#define SECOND 1000000000ull

/* A recording of ten seconds: a loss at 3 s to 4 s, a gap from 6 s to 7 s, and thread 5. */
static struct partial *recording(void)
{
	const struct record_switch leaves = {
		.head = {.kind = RECORD_switch, .time_ns = 2 * SECOND, .tid = 5, .pid = 5},
		.state = LEAVE_sleep};
	const struct record_lost lost = {.head = {.kind = RECORD_lost, .time_ns = 4 * SECOND},
					 .begin_ns = 3 * SECOND,
					 .count = 7};
	const struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = 7 * SECOND},
				       .begin_ns = 6 * SECOND};
	struct partial *p = partial_new(NULL);

	partial_cover(p, SECOND, 11 * SECOND);
	apply(p, &leaves);
	apply(p, &lost);
	apply(p, &gap);
	CHECK_EQ(partial_finish(p), 0);
	return p;
}

static unsigned int reasons(const struct partial *p, u64 from_s, u64 to_s)
{
	return unknown_reasons(p, &(struct unknown_of){.tid = 5,
						       .begin_ns = from_s * SECOND,
						       .end_ns = to_s * SECOND});
}

TEST(what_touches_the_time_is_its_reason)
{
	struct partial *p = recording();

	CHECK_EQ(reasons(p, 1, 2), UNKNOWN_begin);
	CHECK_EQ(reasons(p, 2, 3), UNKNOWN_untold);
	CHECK_EQ(reasons(p, 2, 5), UNKNOWN_loss);
	CHECK_EQ(reasons(p, 5, 8), UNKNOWN_gap);
	CHECK_EQ(reasons(p, 1, 8), UNKNOWN_begin | UNKNOWN_gap);
	partial_free(p);
}

TEST(a_filter_is_the_reason_of_what_it_leaves_out)
{
	const struct record_filter filter = {
		.head = {.kind = RECORD_filter, .time_ns = 2 * SECOND, .tid = 1, .pid = 1},
		.flags = FILTER_SPANS};
	struct partial *p = partial_new(NULL);

	partial_cover(p, SECOND, 11 * SECOND);
	apply(p, &filter);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(reasons(p, 3, 4), UNKNOWN_filter);
	partial_free(p);
}

TEST(each_reason_has_a_name)
{
	unsigned int count = 0;

	while (unknown_reason_name(count))
		count++;
	CHECK_EQ(count, UNKNOWN_REASONS_COUNT);
	CHECK_EQ(strcmp(unknown_reason_name(1), "loss"), 0);
}

TEST_MAIN()
