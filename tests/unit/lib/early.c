/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses the library before its main(), in what runs there first: the library is
 * linked behind it, or its own start comes later.
 */
#include <sys/wait.h>

#include "unit/lib/anew.h"
#include "unit/lib/listener.h"

static struct {
	bool done;
	int level, set, named;
	struct fathom_span span;
} early;

__attribute__((constructor(101))) static void earliest(void)
{
	const char *level = getenv("TEST_EARLY_LEVEL");

	if (!getenv("TEST_EARLY"))
		return;
	early.done = true;
	if (level)
		fathom_level_set(atoi(level));
	early.level = fathom_level_get();
	early.set = getenv("TEST_EARLY_SAMPLING")
			    ? fathom_sampling_set(getenv("TEST_EARLY_SAMPLING"))
			    : 0;
	early.named = fathom_init("early-service");
	early.span = fathom_span_begin("early");
	fathom_span_end(&early.span);
}

/* ---- of programs that others start ---- */

static void early_expect(void)
{
	if (!getenv("TEST_EARLY"))
		SKIP("run by others");
	CHECK(early.done);
	CHECK_EQ(early.named, 0);
	CHECK_EQ(early.set, 0);
}

static bool text_has(const char *text, size_t bytes, const char *key, const char *value)
{
	for (size_t at = 0; at < bytes;) {
		const char *k = text + at, *v = k + strlen(k) + 1;

		if (strcmp(k, key) == 0)
			return strcmp(v, value) == 0;
		at += strlen(k) + strlen(v) + 2;
	}
	return false;
}

TEST(it_is_named)
{
	static struct listener l;
	struct record_kept *said;

	early_expect();
	listener_start(&l);
	(void)fathom_listening();
	listener_drain(&l);
	said = listener_nth(&l, RECORD_service, 0);
	CHECK(said != NULL);
	CHECK(text_has(said->service.resource, said->service.resource_len, "service.name",
		       "early-service"));
	CHECK(text_has(said->service.resource, said->service.resource_len, "telemetry.sdk.name",
		       "fathom"));
}

TEST(it_stands_at_alert)
{
	early_expect();
	CHECK_EQ(early.level, FATHOM_ALERT);
	CHECK_EQ(fathom_level_get(), FATHOM_ALERT);
	CHECK_EQ(listener_find(NULL), 1);
}

TEST(it_samples_nothing)
{
	struct fathom_span s = fathom_span_begin("s");

	early_expect();
	CHECK_EQ(early.span.flags & FATHOM_SAMPLED, 0);
	CHECK_EQ(s.flags & FATHOM_SAMPLED, 0);
	CHECK(s.flags != 0);
	fathom_span_end(&s);
}

TEST(it_does_nothing)
{
	static const struct fathom_span none;

	early_expect();
	CHECK_MEM(&early.span, &none, sizeof(none));
	CHECK_EQ(listener_find(NULL), 0);
	CHECK(!fathom_listening());
}

/* ---- */

static int environment_set(void *arg)
{
	const char **words = arg;

	setenv("TEST_EARLY", "1", 1);
	for (; *words; words += 2)
		setenv(words[0], words[1], 1);
	return 0;
}

static int early_run(const char *test, const char **words)
{
	return program_anew(test, environment_set, words);
}

TEST(the_name_that_was_given_stays)
{
	CHECK_EQ(early_run("it_is_named", (const char *[]){NULL}), 0);
	CHECK_EQ(early_run("it_is_named", (const char *[]){"FATHOM_SERVICE", "other", NULL}), 0);
}

TEST(the_level_of_the_environment_holds)
{
	CHECK_EQ(early_run("it_stands_at_alert", (const char *[]){"FATHOM_LEVEL", "alert", NULL}),
		 0);
}

TEST(the_level_that_was_set_holds)
{
	CHECK_EQ(early_run("it_stands_at_alert", (const char *[]){"FATHOM_LEVEL", "debug",
								  "TEST_EARLY_LEVEL", "1", NULL}),
		 0);
}

TEST(the_sampling_of_the_environment_holds)
{
	CHECK_EQ(
		early_run("it_samples_nothing", (const char *[]){"FATHOM_SAMPLING", "never", NULL}),
		0);
}

TEST(the_sampling_that_was_set_holds)
{
	CHECK_EQ(early_run("it_samples_nothing",
			   (const char *[]){"FATHOM_SAMPLING", "always", "TEST_EARLY_SAMPLING",
					    "never", NULL}),
		 0);
}

TEST(nothing_is_done_if_that_is_asked_for)
{
	CHECK_EQ(early_run("it_does_nothing", (const char *[]){"FATHOM_DISABLE", "1", NULL}), 0);
}

TEST_MAIN()
