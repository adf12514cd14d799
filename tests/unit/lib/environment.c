/* SPDX-License-Identifier: Apache-2.0 */
/* Words in the environment: those that mean nothing leave the default, and nothing is printed. */
#include <fathom/fathom.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "unit/lib/anew.h"
#include "unit/lib/listener.h"

/* Tests that run in children, which other tests start. */
TEST(all_is_sampled)
{
	struct fathom_span s = fathom_span_begin("s");

	CHECK(s.flags & FATHOM_SAMPLED);
	CHECK_EQ(fathom_level_get(), FATHOM_INFO);
	fathom_span_end(&s);
}

TEST(readers_know_the_writer)
{
	static const char sdk[] = "telemetry.sdk.name\0fathom";
	static struct listener l;
	struct record_kept *told;

	listener_start(&l);
	(void)fathom_listening();
	listener_stop(&l);
	told = listener_nth(&l, RECORD_service, 0);
	CHECK(told != NULL);
	CHECK_MEM(told->service.resource, "service.name", 13);
	CHECK(memmem(told->service.resource, told->service.resource_len, sdk, sizeof(sdk)));
}

struct surroundings {
	const char *variable, *word;
	int errors; /* where its stderr goes; -1: it has none */
};

static int surroundings_prepare(void *arg)
{
	const struct surroundings *s = arg;

	setenv(s->variable, s->word, 1);
	return s->errors >= 0 ? dup2(s->errors, 2) : close(2);
}

static int child_run(const char *variable, const char *word, int errors)
{
	struct surroundings s = {variable, word, errors};

	return program_anew("all_is_sampled", surroundings_prepare, &s);
}

/* The output of a child, and whether it passed. */
static const char *child_says(const char *variable, const char *word, int status)
{
	static char text[1024];
	int ends[2];
	ssize_t n;

	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_EQ(child_run(variable, word, ends[1]), status);
	n = read(ends[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	close(ends[0]);
	close(ends[1]);
	return text;
}

TEST(a_word_that_is_none_leaves_the_default)
{
	CHECK_STR(child_says("FATHOM_SAMPLING", "bogus", 0), "");
	CHECK_STR(child_says("FATHOM_LEVEL", "lo\nud", 0), "");
	CHECK_STR(child_says("FATHOM_LEVEL", "", 0), "");
}

TEST(a_word_of_any_length)
{
	char word[2000];

	memset(word, 'x', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	CHECK_STR(child_says("FATHOM_SAMPLING", word, 0), "");
	CHECK_STR(child_says("FATHOM_LEVEL", word, 0), "");
}

TEST(a_word_that_is_understood_holds)
{
	CHECK_STR(child_says("FATHOM_SAMPLING", "always", 0), "");
	CHECK_STR(child_says("FATHOM_SAMPLING", "", 0), "");
	CHECK_STR(child_says("FATHOM_LEVEL", "info", 0), "");
	CHECK_STR(child_says("FATHOM_SAMPLING", "never", 256), ""); /* and is not sampled */
	CHECK_STR(child_says("FATHOM_LEVEL", "debug", 256), "");
}

static int named_prepare(void *arg)
{
	return setenv("FATHOM_SERVICE", arg, 1);
}

TEST(a_name_that_is_too_long)
{
	char name[1100];

	memset(name, 'x', sizeof(name));
	for (size_t length = 900; length < sizeof(name); length += 5) {
		name[length] = '\0';
		CHECK_EQ(program_anew("readers_know_the_writer", named_prepare, name), 0);
		name[length] = 'x';
	}
}

/* A program starts as ever, whatever its stderr is. */
TEST(nobody_who_reads_it)
{
	char page[4096] = {0};
	int ends[2];

	CHECK_EQ(child_run("FATHOM_SAMPLING", "bogus", -1), 0);
	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	CHECK_EQ(child_run("FATHOM_SAMPLING", "bogus", ends[1]), 0);
	close(ends[1]);
	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], page, sizeof(page)) > 0)
		;
	CHECK_EQ(errno, EAGAIN); /* full */
	CHECK_EQ(fcntl(ends[1], F_SETFL, 0), 0);
	CHECK_EQ(child_run("FATHOM_SAMPLING", "bogus", ends[1]), 0);
	close(ends[0]);
	close(ends[1]);
}

TEST_MAIN()
