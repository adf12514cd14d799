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

/* Others like the short ones were left out: what is usual stays the same. */
TEST(a_span_counts_for_those_like_it_that_were_left_out)
{
	struct chooser *c = chooser_new();
	struct chooser_span span = span_of("GET", 10 * CHOOSER_SLOW_NS);
	int slow = 0;

	CHECK(c != NULL);
	for (int i = 0; i < 2000; i++) {
		span.duration_ns = i % 20 ? 2 * CHOOSER_SLOW_NS : 10 * CHOOSER_SLOW_NS;
		span.times = i % 20 ? 64 : 1;
		slow += i > 200 && chooser_ask(c, &span, BEGIN_NS + (uint64_t)i) == CHOSEN_SLOW;
	}
	CHECK_EQ(slow, 89);
	chooser_free(c);
}

TEST(nothing_is_slow_before_a_hundred_spans)
{
	struct chooser *c = chooser_new();

	many_ask(c, "buy", 99, BEGIN_NS);
	CHECK_EQ(ask(c, "buy", SECOND_NS, BEGIN_NS + SECOND_NS), CHOSEN_NOT);
	CHECK_EQ(ask(c, "buy", 2 * SECOND_NS, BEGIN_NS + 2 * SECOND_NS), CHOSEN_SLOW);
	many_ask(c, "sell", 100, BEGIN_NS + 2 * SECOND_NS); /* all at one instant */
	CHECK_EQ(ask(c, "sell", SECOND_NS, BEGIN_NS + 2 * SECOND_NS), CHOSEN_SLOW);
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

TEST(rules_say_what_is_slow)
{
	static const struct chooser_rule rules[] = {{NULL, NULL, 50 * 1000000},
						    {"shop", NULL, 5 * 1000000},
						    {"shop", "report", 500 * 1000000}};
	struct chooser *c = chooser_new();
	struct chooser_span span = span_of("buy", 6 * 1000000);

	chooser_rules_set(c, rules, 3);
	CHECK_EQ(chooser_ask(c, &span, BEGIN_NS), CHOSEN_SLOW); /* the first span that is seen */
	span.duration_ns = 4 * 1000000;
	CHECK(chooser_ask(c, &span, BEGIN_NS) != CHOSEN_SLOW);
	span.name = "report";
	span.duration_ns = 400 * 1000000;
	CHECK(chooser_ask(c, &span, BEGIN_NS) != CHOSEN_SLOW);
	span.service = "bank";
	CHECK_EQ(chooser_ask(c, &span, BEGIN_NS), CHOSEN_SLOW);
	chooser_free(c);
}

TEST(a_process_of_which_an_operation_got_slow_is_told_once)
{
	static const struct chooser_rule rule = {NULL, NULL, 5 * 1000000};
	struct chooser *c = chooser_new();
	struct chooser_span span = span_of("buy", 6 * 1000000);
	uint64_t now_ns = BEGIN_NS;
	uint32_t pid = 0;

	chooser_rules_set(c, &rule, 1);
	span.pid = 77;
	for (int i = 0; i < 19; i++)
		chooser_ask(c, &span, now_ns);
	CHECK(!chooser_raise_take(c, now_ns, &pid)); /* too few */
	chooser_ask(c, &span, now_ns);
	CHECK(chooser_raise_take(c, now_ns, &pid));
	CHECK_EQ(pid, 77);
	for (int i = 0; i < 100; i++)
		chooser_ask(c, &span, now_ns + 200 * SECOND_NS);
	CHECK(!chooser_raise_take(c, now_ns, &pid)); /* once in five minutes */
	for (int i = 0; i < 100; i++)
		chooser_ask(c, &span, now_ns + 400 * SECOND_NS);
	CHECK(chooser_raise_take(c, now_ns, &pid));
	span.name = "sell"; /* another operation: a tenth of the time is used up */
	for (int i = 0; i < 100; i++)
		chooser_ask(c, &span, now_ns + 420 * SECOND_NS);
	CHECK(!chooser_raise_take(c, now_ns, &pid));
	chooser_free(c);
}

TEST(few_slow_spans_among_many_do_not_make_an_operation_slow)
{
	static const struct chooser_rule rule = {NULL, NULL, 5 * 1000000};
	struct chooser *c = chooser_new();
	uint32_t pid;

	chooser_rules_set(c, &rule, 1);
	for (unsigned int i = 0; i < 1000; i++) {
		struct chooser_span span = span_of("buy", i % 25 == 24 ? 6000000 : 1000000);

		span.pid = 77;
		chooser_ask(c, &span, BEGIN_NS + i * SECOND_NS / 100);
	}
	CHECK(!chooser_raise_take(c, BEGIN_NS + 10 * SECOND_NS, &pid));
	chooser_free(c);
}

TEST(a_span_of_ten_times_what_is_slow_is_to_be_pinned)
{
	static const struct chooser_rule rule = {NULL, NULL, 5 * 1000000};
	struct chooser *c = chooser_new();
	struct chooser_span span = span_of("buy", 49 * 1000000);
	struct chooser_pin pin;

	chooser_rules_set(c, &rule, 1);
	span.trace = (struct trace_id){1, 2};
	span.begin_ns = 1000;
	chooser_ask(c, &span, BEGIN_NS);
	CHECK(!chooser_pin_take(c, &pin));
	span.duration_ns = 51 * 1000000;
	chooser_ask(c, &span, BEGIN_NS);
	CHECK(chooser_pin_take(c, &pin));
	CHECK_EQ(pin.trace.low, 2);
	CHECK_EQ(pin.begin_ns, 1000);
	CHECK_EQ(pin.end_ns, 1000 + 51 * 1000000);
	CHECK(!chooser_pin_take(c, &pin));
	chooser_ask(c, &span, BEGIN_NS + 9 * SECOND_NS);
	CHECK(!chooser_pin_take(c, &pin)); /* one in ten seconds */
	chooser_ask(c, &span, BEGIN_NS + 10 * SECOND_NS);
	CHECK(chooser_pin_take(c, &pin));
	chooser_free(c);
}

TEST_MAIN()
