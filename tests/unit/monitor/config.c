/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/config.h"

#include "tests/unit/check.h"

static const char whole[] = "# what is watched\n"
			    "[monitor cart is slow]\r\n"
			    "service = shop\n"
			    "operation = GET /cart?a=b\n"
			    "value = p99\n"
			    "above = 200ms\n"
			    "notify = pager, log\n"
			    "\n"
			    "[webhook pager]\n"
			    "url = https://hooks.example/1?a=b\n"
			    "header = Authorization: Bearer x\n"
			    "timeout = 3s\n"
			    "[command log]\n"
			    "run = /bin/tell --to \"two words\" a\\\"b\"\"\n";

TEST(a_file_has_rules_and_actions)
{
	struct monitors_config c = {0};
	struct error e = {0};
	const struct monitor_action *pager, *log;

	if (monitors_config_read(&c, "f", whole, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(c.rules.count, 1);
	CHECK_STR(c.rules.data[0].name, "cart is slow");
	CHECK_STR(c.rules.data[0].texts[RULE_operation], "GET /cart?a=b");
	pager = monitor_action_find(&c, "pager");
	log = monitor_action_find(&c, "log");
	CHECK(pager && pager->is_webhook && log && !log->is_webhook);
	CHECK_STR(pager->url, "https://hooks.example/1?a=b");
	CHECK_STR(pager->headers[0], "Authorization: Bearer x");
	CHECK_EQ(pager->timeout_ns, 3000000000u);
	CHECK_EQ(log->timeout_ns, 10000000000u);
	CHECK_EQ(log->words_count, 4);
	CHECK_EQ(memcmp(log->words, "/bin/tell\0--to\0two words\0a\"b", 29), 0);
	monitors_config_free(&c);
}

TEST(mistakes_are_told_with_their_line)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {{"service = x\n", "f:1: before the first line"},
		     {"[monitor a]\nservice = x\ncolour = red\n", "f:3: there is no key 'colour'"},
		     {"[monitor a]\nservice = x\nservice = y\n", "f:3: 'service' is set twice"},
		     {"\n[monitor a]\nservice = x\n\n", "f:2: 'value'"},
		     {"[monitor a\n", "f:1: a ] is missing"},
		     {"[thing a]\n", "f:1: write [monitor NAME]"},
		     {"[monitor a]\nservice\n", "f:2: write KEY = VALUE"},
		     {"[monitor a]\nservice =\n", "f:2: 'service' has no value"},
		     {"[webhook a]\n", "f:1: the webhook has no url"},
		     {"[webhook a]\nurl = ftp://x\n", "f:2: a webhook begins with"},
		     {"[webhook a]\nurl = http://x\nheader = x\n", "f:3: write header"},
		     {"[command a]\n[command b]\n", "f:1: the command has no run"},
		     {"[command a]\nrun = tell\n", "f:2: a command begins with the path"},
		     {"[command a]\nrun = /bin/x \"y\n", "f:2: a quote is not closed"},
		     {"[command a]\nrun = /bin/x\ntimeout = 2h\n", "f:3: timeout '2h'"},
		     {"[command a]\nrun = /bin/x\n[webhook a]\n", "f:3: there are two actions 'a'"},
		     {"[monitor a]\nservice=s\nvalue=p99\nabove=1s\nnotify=b\n", "notifies 'b'"}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct monitors_config c = {0};
		struct error e = {0};

		CHECK(monitors_config_read(&c, "f", wrong[i].text, &e) != 0);
		CHECK(e.misuse);
		if (!strstr(e.text, wrong[i].says))
			CHECK_FAIL("%zu: '%s'", i, e.text);
		monitors_config_free(&c);
	}
}

TEST(names_are_unique_among_monitors)
{
	static const char two[] = "[monitor a]\nservice=s\nvalue=p99\nabove=1s\n[monitor a]\n";
	struct monitors_config c = {0};
	struct error e = {0};

	CHECK(monitors_config_read(&c, "f", two, &e) != 0);
	CHECK(strstr(e.text, "two monitors"));
	monitors_config_free(&c);
}

TEST_MAIN()
