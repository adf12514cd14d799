/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/action.h"
#include "tests/unit/check.h"

static atomic_bool stop;

static int run(const char *line, uint64_t timeout_ns, const char *payload,
	       char why[ACTION_WHY_BYTES])
{
	struct monitors_config c = {0};
	struct error e = {0};
	char text[512];
	struct acting acting = {NULL, "cart is slow", "alert", payload, &stop};
	int err;

	snprintf(text, sizeof(text), "[command x]\nrun = %s\n", line);
	if (monitors_config_read(&c, "f", text, &e))
		CHECK_FAIL("%s", e.text);
	c.actions.data[0].timeout_ns = timeout_ns;
	acting.action = c.actions.data;
	err = action_command(&acting, why);
	monitors_config_free(&c);
	return err;
}

#define LONG UINT64_C(60000000000)

TEST(a_command_gets_the_payload_and_its_words)
{
	char why[ACTION_WHY_BYTES] = "";

	CHECK_EQ(run("/bin/sh -c \"test \\\"$(cat)\\\" = '{\\\"a\\\":1}' && test \\\"$0 $1\\\" = "
		     "'x y z' && "
		     "test \\\"$FATHOM_MONITOR $FATHOM_STATE $(pwd)\\\" = 'cart is slow alert /'\" "
		     "\"x y\" z",
		     LONG, "{\"a\":1}", why),
		 0);
	CHECK_STR(why, "");
}

TEST(a_failure_says_why)
{
	char why[ACTION_WHY_BYTES] = "";

	CHECK_EQ(run("/bin/sh -c \"echo first >&2; echo 'no such pager' >&2; exit 3\"", LONG, "{}",
		     why),
		 -EREMOTEIO);
	CHECK_STR(why, "it ended with status 3: no such pager");
	CHECK(run("/nowhere/at/all", LONG, "{}", why) < 0);
	CHECK(strstr(why, "cannot be started"));
	CHECK_EQ(run("/bin/sh -c \"kill -9 $$\"", LONG, "{}", why), -EREMOTEIO);
	CHECK_STR(why, "signal 9 killed it");
}

TEST(what_takes_too_long_is_killed_with_what_it_started)
{
	char why[ACTION_WHY_BYTES] = "";
	uint64_t begin_ns = clock_now_ns();

	CHECK_EQ(run("/bin/sh -c \"sleep 1000 & sleep 1000\"", 50000000, "{}", why), -ETIMEDOUT);
	CHECK_STR(why, "it took too long, and was killed");
	CHECK(clock_now_ns() - begin_ns < LONG);
	atomic_store(&stop, true);
	CHECK_EQ(run("/bin/sleep 1000", LONG, "{}", why), -ECANCELED);
	atomic_store(&stop, false);
}

TEST(it_inherits_nothing)
{
	char why[ACTION_WHY_BYTES] = "";
	int fd = dup(1); /* without close-on-exec */

	CHECK_EQ(run("/bin/sh -c \"test $(ls /proc/self/fd | wc -l) -le 4\"", LONG, "{}", why), 0);
	close(fd);
}

TEST_MAIN()
