/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/rule.h"

#include "tests/unit/check.h"

static struct monitor_rule rule_of(const char *const pairs[][2], struct error *e)
{
	struct monitor_rule rule = {.name = "x"};

	for (size_t i = 0; pairs[i][0]; i++) {
		enum rule_key key = rule_key_find(pairs[i][0]);

		CHECK(key < RULE_KEYS_COUNT);
		CHECK_EQ(monitor_rule_set(&rule, key, pairs[i][1], NULL), 0);
	}
	monitor_rule_finish(&rule, e);
	return rule;
}

TEST(a_rule_has_defaults)
{
	struct error e = {0};
	struct monitor_rule rule = rule_of(
		(const char *const[][2]){
			{"service", "shop"}, {"value", "p99"}, {"above", "200ms"}, {0}},
		&e);
	char text[MONITOR_OF_BYTES];

	CHECK_EQ(e.err, 0);
	CHECK(rule.alert == 200e6);
	CHECK(!rule.has_warn && !rule.below && !rule.muted);
	CHECK_EQ(rule.over_ns, 300000000000u);
	CHECK_EQ(rule.min_count, 20);
	CHECK(rule.hysteresis == 0.1);
	CHECK_EQ(rule.kind, -1);
	CHECK_STR(monitor_rule_of(&rule, text), "p99 of shop");
}

TEST(a_rule_has_all_keys)
{
	struct error e = {0};
	struct monitor_rule rule = rule_of((const char *const[][2]){{"service", "shop"},
								    {"operation", "GET /cart"},
								    {"kind", "server"},
								    {"value", "rate"},
								    {"below", "5/s"},
								    {"warn", "10/s"},
								    {"over", "95s"},
								    {"min_count", "7"},
								    {"hysteresis", "25%"},
								    {"notify", "pager , log"},
								    {"mute", "yes"},
								    {0}},
					   &e);

	CHECK_EQ(e.err, 0);
	CHECK(rule.below && rule.has_warn && rule.muted);
	CHECK(rule.warn == 10 && rule.alert == 5 && rule.hysteresis == 0.25);
	CHECK_EQ(rule.over_ns, 90000000000u);
	CHECK_EQ(rule.min_count, 7);
	CHECK_EQ(rule.notify_count, 2);
	CHECK_STR(rule.notify[0], "pager");
	CHECK_STR(rule.notify[1], "log");
}

TEST(wrong_rules_say_why)
{
	static const struct {
		const char *pairs[8][2], *says;
	} wrong[] = {
		{{{"value", "p99"}, {"above", "1s"}}, "'service'"},
		{{{"service", "a"}, {"above", "1s"}}, "'value'"},
		{{{"service", "a"}, {"value", "p99"}}, "either 'above' or 'below'"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"below", "1s"}}, "either"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "5/s"}}, "no time"},
		{{{"service", "a"}, {"value", "rate"}, {"above", "5ms"}}, "no rate"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"warn", "2s"}}, "beyond"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"over", "5s"}},
		 "10s to 1d"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"kind", "x"}}, "server"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"mute", "x"}},
		 "yes nor no"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"min-count", "-1"}},
		 "number of spans"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"hysteresis", "95%"}},
		 "90%"},
		{{{"service", "a"}, {"value", "p99"}, {"above", "1s"}, {"notify", "a,,b"}},
		 "list of names"},
		{{{"service", "a"}, {"to", "b"}, {"value", "p99 lock"}, {"above", "1s"}},
		 "no cause"},
		{{{"service", "a"},
		  {"to", "b"},
		  {"operation", "c"},
		  {"value", "p99"},
		  {"above", "1s"}},
		 "no operation"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error e = {0};

		rule_of(wrong[i].pairs, &e);
		if (!strstr(e.text, wrong[i].says))
			CHECK_FAIL("%zu: '%s'", i, e.text);
	}
}

TEST(texts_are_plain)
{
	struct monitor_rule rule = {0};
	char text[MONITOR_TEXT_BYTES + 1];

	CHECK(monitor_rule_set(&rule, RULE_service, "a\nb", NULL) != 0);
	CHECK(monitor_rule_set(&rule, RULE_service, "a\xff", NULL) != 0);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK(monitor_rule_set(&rule, RULE_service, text, NULL) != 0);
	CHECK_EQ(monitor_rule_set(&rule, RULE_service, "caf\xc3\xa9", NULL), 0);
	CHECK(monitor_name_check("a/b", NULL) != 0);
	CHECK(monitor_name_check("", NULL) != 0);
	CHECK(monitor_name_check(".", NULL) != 0);
	CHECK(monitor_name_check("..", NULL) != 0);
	CHECK_EQ(monitor_name_check("...", NULL), 0);
	CHECK_EQ(monitor_name_check("cart is slow", NULL), 0);
}

TEST_MAIN()
