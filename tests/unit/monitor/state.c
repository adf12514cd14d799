/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/state.h"

#include "tests/unit/check.h"

#define SECOND UINT64_C(1000000000)

/* A monitor of p99 above 100, warning from 50 on, with at least ten spans. */
static struct monitor_rule rule = {
	.alert = 100, .warn = 50, .has_warn = true, .hysteresis = 0.1, .min_count = 10};
static uint64_t now;

static enum monitor_state take(struct monitor_status *s, double value)
{
	const struct monitor_sample sample = {
		.at_ns = now += 10 * SECOND, .count = 10, .value = value, .is_known = true};

	monitor_step(s, &rule, &sample);
	return s->state;
}

/* Tells what is due, and counts it. */
static unsigned int told(struct monitor_status *s)
{
	if (!monitor_is_due(s, &rule, now))
		return 0;
	s->told = s->level;
	return 1;
}

TEST(a_level_is_left_later_than_it_is_reached)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;

	CHECK_EQ(take(&s, 50), MONITOR_OK); /* not beyond it */
	CHECK_EQ(take(&s, 51), MONITOR_WARN);
	CHECK_EQ(take(&s, 46), MONITOR_WARN);
	CHECK_EQ(take(&s, 45), MONITOR_OK);
	CHECK_EQ(take(&s, 46), MONITOR_OK);
	CHECK_EQ(take(&s, 101), MONITOR_ALERT);
	CHECK_EQ(take(&s, 91), MONITOR_ALERT);
	CHECK_EQ(take(&s, 90), MONITOR_WARN);
	CHECK_EQ(take(&s, 99), MONITOR_WARN);
	CHECK_EQ(take(&s, 10), MONITOR_OK);
}

TEST(a_value_around_the_threshold_is_told_once)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;
	unsigned int count = 0;

	for (int i = 0; i < 20; i++) {
		take(&s, i % 2 ? 98 : 102);
		count += told(&s);
	}
	CHECK_EQ(count, 1);
	CHECK_EQ(s.history_count, 1);
}

TEST(lower_bounds_are_the_same_upside_down)
{
	const struct monitor_rule upper = rule;
	struct monitor_status s = MONITOR_STATUS_INITIAL;

	rule = (struct monitor_rule){.alert = 10, .below = true, .hysteresis = 0.5, .min_count = 0};
	CHECK_EQ(take(&s, 10), MONITOR_OK);
	CHECK_EQ(take(&s, 9), MONITOR_ALERT);
	CHECK_EQ(take(&s, 14), MONITOR_ALERT);
	CHECK_EQ(take(&s, 15), MONITOR_OK);
	rule = upper;
}

TEST(too_few_spans_are_no_data)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;
	struct monitor_sample few = {.count = 9, .value = 500, .is_known = true};

	few.at_ns = now += SECOND;
	CHECK(monitor_step(&s, &rule, &few));
	CHECK_EQ(s.state, MONITOR_NO_DATA);
	CHECK(strstr(s.why, "9 spans, 10 are needed"));
	CHECK_EQ(told(&s), 0);
	CHECK_EQ(take(&s, 500), MONITOR_ALERT);
	CHECK_EQ(told(&s), 1);
	few.at_ns = now += SECOND;
	monitor_step(&s, &rule, &few);
	CHECK_EQ(s.state, MONITOR_NO_DATA);
	CHECK_EQ(s.level, MONITOR_ALERT);
	CHECK_EQ(told(&s), 0);
	/* the level goes on where it was, with its hysteresis */
	CHECK_EQ(take(&s, 95), MONITOR_ALERT);
	CHECK_EQ(told(&s), 0);
	CHECK_EQ(take(&s, 1), MONITOR_OK);
	CHECK_EQ(told(&s), 1);
}

TEST(what_is_muted_is_told_when_the_mute_ends)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;

	s.muted_until_ns = now + 35 * SECOND;
	CHECK_EQ(take(&s, 500), MONITOR_ALERT);
	CHECK_EQ(told(&s), 0);
	take(&s, 500);
	take(&s, 500);
	CHECK_EQ(told(&s), 0);
	take(&s, 500);
	CHECK_EQ(told(&s), 1);
	/* what comes and goes under a mute is never told */
	s.muted_until_ns = UINT64_MAX;
	take(&s, 1);
	take(&s, 500);
	s.muted_until_ns = 0;
	CHECK_EQ(told(&s), 0);
	rule.muted = true;
	take(&s, 1);
	CHECK_EQ(told(&s), 0);
	rule.muted = false;
	CHECK_EQ(told(&s), 1);
}

TEST(a_stop_is_in_the_history_and_changes_no_level)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;

	monitor_interrupt(&s, now); /* it never began */
	CHECK_EQ(s.history_count, 0);
	take(&s, 500);
	CHECK_EQ(told(&s), 1);
	monitor_interrupt(&s, now += SECOND);
	CHECK_EQ(s.state, MONITOR_NO_DATA);
	take(&s, 500);
	CHECK_EQ(told(&s), 0);
	CHECK_EQ(s.history_count, 3);
	CHECK_EQ(s.history[1].state, MONITOR_NO_DATA);
}

TEST(the_history_is_bounded)
{
	struct monitor_status s = MONITOR_STATUS_INITIAL;

	for (int i = 0; i < 1000; i++)
		take(&s, i % 2 ? 1 : 500);
	CHECK_EQ(s.history_count, MONITOR_HISTORY_MAX);
	CHECK_EQ(s.history[MONITOR_HISTORY_MAX - 1].at_ns, now);
	CHECK_EQ(s.history[0].at_ns, now - (MONITOR_HISTORY_MAX - 1) * 10 * SECOND);
}

TEST_MAIN()
