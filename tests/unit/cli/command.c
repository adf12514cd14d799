/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of commands, with its own table. Each call runs in a child process with its own
 * stdout and stderr.
 */
#include "cli/command.h"

#include <errno.h>
#include <sys/wait.h>

#include "tests/unit/check.h"

struct sleep_options {
	uint64_t time_ns;
	char *owned;
};

static const struct option sleep_table[] = {
	{"time", 't', "TIME", "how long", "1s", offsetof(struct sleep_options, time_ns),
	 option_duration},
	{0},
};

static int sleep_run(const void *options, const struct operands *operands, struct error *e)
{
	const struct sleep_options *o = options;

	if (o->time_ns == 7000) {
		error_set(e, ENOENT, "cannot find the bed");
		return error_set(e, ENOENT, "cannot sleep");
	}
	if (o->time_ns == 8000) {
		error_misuse(e, "the bed is too short");
		return error_set(e, EINVAL, "cannot sleep");
	}
	if (o->time_ns == 9000)
		return error_say(e, EINVAL, "the bed is broken");
	printf("slept %llu\n", (unsigned long long)o->time_ns);
	return o->time_ns == 42000 ? 42 : 0;
}

static const struct command sleep_command = {
	.name = "sleep",
	.summary = "sleep",
	.usage = "[-t TIME]",
	.options = sleep_table,
	.options_bytes = sizeof(struct sleep_options),
	.examples = "  fathom sleep -t 1s",
	.run = sleep_run,
};

const struct command *const command_table[] = {&sleep_command, NULL};

static char output[4096];

/* Runs a command line. Returns its exit status; `output` gets its stdout and stderr. */
static int run(const char *const *words)
{
	char *argv[8] = {(char *)"fathom"};
	int fds[2], argc = 1, status;
	ssize_t n;
	size_t len = 0;
	pid_t child;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	CHECK(pipe(fds) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		_exit(commands_main(argc, argv));
	}
	close(fds[1]);
	while ((n = read(fds[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(fds[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

TEST(runs_with_presets_and_options)
{
	CHECK_EQ(RUN("sleep"), 0);
	CHECK_STR(output, "slept 1000000000\n");
	CHECK_EQ(RUN("sleep", "-t", "5ms"), 0);
	CHECK_STR(output, "slept 5000000\n");
}

TEST(its_status_is_the_exit_status)
{
	CHECK_EQ(RUN("sleep", "-t42us"), 42);
}

TEST(a_failure_prints_its_causes_once)
{
	CHECK_EQ(RUN("sleep", "-t", "7us"), 1);
	CHECK_STR(output, "fathom sleep: cannot sleep: cannot find the bed: "
			  "No such file or directory\n");
}

TEST(a_wrong_choice_that_running_shows_is_2)
{
	CHECK_EQ(RUN("sleep", "-t", "8us"), 2);
	CHECK_STR(output, "fathom sleep: cannot sleep: the bed is too short\n"
			  "'fathom sleep --help' lists the options\n");
	CHECK_EQ(RUN("sleep", "-t", "9us"), 1);
	CHECK_STR(output, "fathom sleep: the bed is broken\n");
}

TEST(wrong_usage_is_2)
{
	CHECK_EQ(RUN("sleep", "-t", "7"), 2);
	CHECK(strstr(output, "fathom sleep: --time '7' is not a duration"));
	CHECK(strstr(output, "'fathom sleep --help'"));
	CHECK_EQ(RUN("sleep", "more"), 2);
	CHECK(strstr(output, "unexpected argument 'more'"));
	CHECK_EQ(RUN("slep"), 2);
	CHECK_STR(output, "fathom: unknown command 'slep'; did you mean 'sleep'?\n");
	CHECK_EQ(RUN("frobnicate"), 2);
	CHECK_EQ(run((const char *const[]){NULL}), 2);
	CHECK(strstr(output, "usage: fathom COMMAND"));
}

TEST(help_shows_each_option)
{
	CHECK_EQ(RUN("sleep", "--help"), 0);
	CHECK(strstr(output, "usage: fathom sleep [-t TIME]\n"));
	CHECK(strstr(output, "-t, --time TIME"));
	CHECK(strstr(output, "how long (default: 1s)"));
	CHECK(strstr(output, "  fathom sleep -t 1s\n"));
}

TEST_MAIN()
