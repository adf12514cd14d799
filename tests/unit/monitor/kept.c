/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/kept.h"

#include "tests/unit/check.h"

#define HOUR UINT64_C(3600000000000)
#define SECOND UINT64_C(1000000000)

static struct monitors_kept kept_make(void)
{
	struct monitors_kept kept = {.evaluated_ns = 77, .told = 3, .failed = 1};
	struct monitor *m = calloc(1, sizeof(*m));
	struct telling t = {.monitor = "a b",
			    .action = "pager",
			    .state = MONITOR_ALERT,
			    .at_ns = 5,
			    .next_ns = 6,
			    .attempts = 2,
			    .is_begun = true,
			    .why = "no",
			    .payload = strdup("{\"x\":\"\\\"\"}")};

	strcpy(m->rule.name, "a b");
	monitor_rule_set(&m->rule, RULE_service, "sh\"op", NULL);
	monitor_rule_set(&m->rule, RULE_min_count, "5", NULL);
	m->status = (struct monitor_status){.state = MONITOR_NO_DATA,
					    .level = MONITOR_ALERT,
					    .told = MONITOR_WARN,
					    .since_ns = 9,
					    .muted_until_ns = UINT64_MAX};
	monitor_history_add(&m->status, &(struct monitor_change){9, 1.5, MONITOR_ALERT});
	CHECK_EQ(vec_push(&kept.monitors, m), 0);
	CHECK_EQ(vec_push(&kept.tellings, t), 0);
	return kept;
}

TEST(what_is_written_is_read)
{
	struct monitors_kept kept = kept_make(), again = {0};
	struct bytes text = {0};
	const struct monitor *m;

	CHECK_EQ(monitors_kept_write(&kept, &text), 0);
	CHECK_EQ(monitors_kept_read(text.data, text.count, &again), 0);
	CHECK_EQ(again.evaluated_ns, 77);
	CHECK_EQ(again.told, 3);
	CHECK_EQ(again.failed, 1);
	m = monitor_find(&again, "a b");
	CHECK(m);
	CHECK_STR(m->rule.texts[RULE_service], "sh\"op");
	CHECK_STR(m->rule.texts[RULE_min_count], "5");
	CHECK_EQ(m->status.state, MONITOR_NO_DATA);
	CHECK_EQ(m->status.level, MONITOR_ALERT);
	CHECK_EQ(m->status.told, MONITOR_WARN);
	CHECK_EQ(m->status.since_ns, 9);
	CHECK(m->status.muted_until_ns == UINT64_MAX);
	CHECK_EQ(m->status.history_count, 1);
	CHECK(m->status.history[0].value == 1.5);
	CHECK_EQ(again.tellings.count, 1);
	CHECK(again.tellings.data[0].is_begun && !again.tellings.data[0].is_failed);
	CHECK_EQ(again.tellings.data[0].attempts, 2);
	CHECK_STR(again.tellings.data[0].payload, "{\"x\":\"\\\"\"}");
	bytes_free(&text);
	monitors_kept_free(&kept);
	monitors_kept_free(&again);
}

/* Any cut of it, and any changed byte, is read or refused, and frees what it has. */
TEST(damage_is_refused_or_harmless)
{
	struct monitors_kept kept = kept_make();
	struct bytes text = {0};

	CHECK_EQ(monitors_kept_write(&kept, &text), 0);
	for (size_t i = 0; i < text.count; i++) {
		struct monitors_kept cut = {0}, changed = {0};
		unsigned char byte = text.data[i];

		if (i + 1 < text.count)
			CHECK(monitors_kept_read(text.data, i, &cut) != 0);
		text.data[i] ^= 0x15;
		monitors_kept_read(text.data, text.count, &changed);
		text.data[i] = byte;
		monitors_kept_free(&cut);
		monitors_kept_free(&changed);
	}
	bytes_free(&text);
	monitors_kept_free(&kept);
}

static void monitor_add(struct monitors_kept *kept, const char *name)
{
	struct monitor *m = calloc(1, sizeof(*m));

	strcpy(m->rule.name, name);
	m->status = MONITOR_STATUS_INITIAL;
	CHECK_EQ(vec_push(&kept->monitors, m), 0);
}

/* Damage of one monitor costs that one alone. */
TEST(a_monitor_that_is_none_is_left_out)
{
	struct monitors_kept kept = kept_make(), again = {0};
	struct bytes text = {0};
	char *state;

	monitor_add(&kept, "..");
	monitor_add(&kept, "a/b");
	monitor_add(&kept, "other state");
	monitor_add(&kept, "good");
	CHECK_EQ(monitors_kept_write(&kept, &text), 0);
	bytes_put_u8(&text, '\0');
	state = strstr(strstr((char *)text.data, "other state"), "no_data");
	memcpy(state, "nothing", strlen("nothing"));
	CHECK_EQ(monitors_kept_read(text.data, text.count - 1, &again), 0);
	CHECK_EQ(again.monitors.count, 2);
	CHECK(monitor_find(&again, "a b") && monitor_find(&again, "good"));
	CHECK_EQ(again.left_out, 3);
	CHECK_STR(again.left_out_why, "'..': no monitor may have its name");
	CHECK_EQ(again.tellings.count, 1);
	bytes_free(&text);
	monitors_kept_free(&kept);
	monitors_kept_free(&again);
}

TEST(it_is_tried_again_for_an_hour)
{
	uint64_t now = 0, next;
	unsigned int attempts = 0;

	while ((next = telling_again_ns(0, ++attempts, now))) {
		CHECK(next > now && next < HOUR);
		now = next;
	}
	CHECK(attempts > 10 && attempts < 20);
	CHECK(now > HOUR - 301 * SECOND);
	CHECK_EQ(telling_again_ns(0, 1, 0), 10 * SECOND);
	CHECK_EQ(telling_again_ns(0, 2, 0), 20 * SECOND);
	CHECK_EQ(telling_again_ns(0, 1000, 0), 300 * SECOND);
}

TEST(a_clock_that_was_set_back_makes_nothing_wait_for_a_day)
{
	const struct telling t = {.at_ns = 100 * HOUR, .next_ns = 100 * HOUR + 300 * SECOND};

	CHECK(!telling_is_due(&t, 100 * HOUR));
	CHECK(!telling_is_due(&t, t.next_ns - 1));
	CHECK(telling_is_due(&t, t.next_ns));
	CHECK(telling_is_due(&t, 76 * HOUR));
}

static struct telling telling_make(const char *monitor, const char *action, bool is_failed)
{
	struct telling t = {.is_failed = is_failed};

	strcpy(t.monitor, monitor);
	strcpy(t.action, action);
	return t;
}

TEST(an_action_is_told_of_the_changes_of_a_monitor_in_their_order)
{
	struct telling list[] = {
		telling_make("cart", "pager", true), telling_make("cart", "pager", false),
		telling_make("cart", "log", false), telling_make("pay", "pager", false),
		telling_make("cart", "pager", false)};
	struct monitors_kept kept = {.tellings = {list, 5, 5}};

	for (size_t i = 0; i < 4; i++)
		CHECK(!telling_is_behind(&kept, i));
	CHECK(telling_is_behind(&kept, 4));
	list[1].is_failed = true;
	CHECK(!telling_is_behind(&kept, 4));
}

TEST_MAIN()
