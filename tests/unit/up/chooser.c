/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans have their kernel spans stored, and how many of these. */
#include "up/chooser.h"

#include <stdio.h>

#include "tests/unit/check.h"

#define SECOND_NS UINT64_C(1000000000)
#define BEGIN_NS (1000 * SECOND_NS)

static struct chooser_span span_of(const char *name, uint64_t duration_ns)
{
	return (struct chooser_span){.service = "shop",
				     .name = name,
				     .kind = 2,
				     .has_children = true,
				     .duration_ns = duration_ns};
}

static enum chosen ask(struct chooser *c, const char *name, uint64_t duration_ns, uint64_t now_ns)
{
	const struct chooser_span span = span_of(name, duration_ns);

	return chooser_ask(c, &span, now_ns);
}

/* So many spans of 1 to 2 ms. The first one is a sample. */
static void many_ask(struct chooser *c, const char *name, unsigned int count, uint64_t now_ns)
{
	for (unsigned int i = 0; i < count; i++)
		ask(c, name, 1000000 + 1000000 / count * i, now_ns);
}

TEST(a_span_in_error_is_chosen)
{
	struct chooser *c = chooser_new();
	struct chooser_span span = span_of("buy", 1000);

	span.is_error = true;
	CHECK_EQ(chooser_ask(c, &span, BEGIN_NS), CHOSEN_ERROR);
	CHECK_EQ(chooser_ask(c, &span, BEGIN_NS), CHOSEN_ERROR);
	chooser_free(c);
}

TEST(one_span_of_an_operation_is_chosen_in_ten_seconds)
{
	struct chooser *c = chooser_new();
	struct chooser_span bare = span_of("buy", 1000);

	bare.has_children = false;
	CHECK_EQ(chooser_ask(c, &bare, BEGIN_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 1000, BEGIN_NS), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "buy", 1000, BEGIN_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "sell", 1000, BEGIN_NS), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "buy", 1000, BEGIN_NS + 9 * SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 1000, BEGIN_NS + 10 * SECOND_NS), CHOSEN_SAMPLE);
	chooser_free(c);
}

TEST(a_span_longer_than_the_percentile_is_chosen)
{
	struct chooser *c = chooser_new();

	many_ask(c, "buy", 1000, BEGIN_NS);
	CHECK_EQ(ask(c, "buy", 1900000, BEGIN_NS + SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 2100000, BEGIN_NS + SECOND_NS), CHOSEN_SLOW);
	CHECK_EQ(ask(c, "sell", 2100000, BEGIN_NS + SECOND_NS), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "sell", 2100000, BEGIN_NS + SECOND_NS), CHOSEN_NOT);
	chooser_free(c);
}

TEST(nothing_is_slow_before_a_hundred_spans)
{
	struct chooser *c = chooser_new();

	many_ask(c, "buy", 99, BEGIN_NS);
	CHECK_EQ(ask(c, "buy", SECOND_NS, BEGIN_NS + SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 2 * SECOND_NS, BEGIN_NS + 2 * SECOND_NS), CHOSEN_SLOW);
	chooser_free(c);
}

TEST(a_short_span_is_not_slow_whatever_is_usual)
{
	struct chooser *c = chooser_new();

	for (int i = 0; i < 1000; i++)
		ask(c, "buy", 1000, BEGIN_NS);
	CHECK_EQ(ask(c, "buy", 1000000, BEGIN_NS + SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 1000001, BEGIN_NS + SECOND_NS), CHOSEN_SLOW);
	chooser_free(c);
}

TEST(what_is_usual_is_forgotten_after_ten_minutes)
{
	struct chooser *c = chooser_new();
	uint64_t later_ns = BEGIN_NS + 700 * SECOND_NS;

	many_ask(c, "buy", 1000, BEGIN_NS);
	CHECK_EQ(ask(c, "buy", 3000000, BEGIN_NS + 400 * SECOND_NS), CHOSEN_SLOW);
	CHECK_EQ(ask(c, "buy", 3000000, later_ns), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "buy", 3000000, later_ns), CHOSEN_NOT);
	for (int i = 0; i < 1000; i++)
		ask(c, "buy", 5 * SECOND_NS, later_ns);
	CHECK_EQ(ask(c, "buy", 4 * SECOND_NS, later_ns + SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 6 * SECOND_NS, later_ns + SECOND_NS), CHOSEN_SLOW);
	chooser_free(c);
}

TEST(operations_beyond_the_most_count_as_one)
{
	struct chooser *c = chooser_new();
	char name[16];

	for (unsigned int i = 0; i < CHOOSER_OPERATIONS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		CHECK_EQ(ask(c, name, 1000, BEGIN_NS), CHOSEN_SAMPLE);
	}
	CHECK_EQ(ask(c, "one more", 1000, BEGIN_NS), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "another", 1000, BEGIN_NS), CHOSEN_NOT);
	/* the others are forgotten by now */
	CHECK_EQ(ask(c, "another", 1000, BEGIN_NS + 700 * SECOND_NS), CHOSEN_SAMPLE);
	CHECK_EQ(ask(c, "one more", 1000, BEGIN_NS + 700 * SECOND_NS), CHOSEN_SAMPLE);
	chooser_free(c);
}

TEST(kernel_spans_are_limited_at_once_and_over_time)
{
	struct chooser *c = chooser_new();
	size_t minute = 0;

	CHECK_EQ(chooser_grant(c, CHOSEN_SLOW, 50000, BEGIN_NS), CHOOSER_BURST);
	CHECK_EQ(chooser_grant(c, CHOSEN_SLOW, 1, BEGIN_NS), 0);
	for (uint64_t s = 1; s <= 60; s++)
		minute += chooser_grant(c, CHOSEN_ERROR, 50000, BEGIN_NS + s * SECOND_NS);
	CHECK_EQ(minute, 60 * CHOOSER_RATE);
	chooser_free(c);
}

TEST(samples_leave_half_of_the_burst)
{
	struct chooser *c = chooser_new();

	CHECK_EQ(chooser_grant(c, CHOSEN_SAMPLE, 50000, BEGIN_NS), CHOOSER_BURST / 2);
	CHECK_EQ(chooser_grant(c, CHOSEN_SAMPLE, 1, BEGIN_NS), 0);
	CHECK_EQ(chooser_grant(c, CHOSEN_SLOW, 50000, BEGIN_NS), CHOOSER_BURST / 2);
	chooser_free(c);
}

TEST_MAIN()
