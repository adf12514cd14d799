/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of what is known to the last call: a command, which is this program again. */
#ifndef TESTS_UNIT_CAPTURE_RECORDING_H
#define TESTS_UNIT_CAPTURE_RECORDING_H

#include <sys/wait.h>

#include "tests/unit/capture/seen.h"
#include "tests/unit/check.h"

/* A recorded command: `program --truth NAME`, which ends with the result of `run`. */
struct truth {
	const char *name; /* NULL: the last */
	int (*run)(void);
};

#define TRUTH_COMMAND(name)                                                                        \
	{                                                                                          \
		"/proc/self/exe", "--truth", name, NULL                                            \
	}

static struct error failure; /* of the recording that began last */

#define CHECK_OK(call)                                                                             \
	do {                                                                                       \
		int check_err_ = (call);                                                           \
		if (check_err_ < 0)                                                                \
			CHECK_FAIL("%s: %d %s", #call, check_err_, failure.text);                  \
	} while (0)

static inline void need_root(void)
{
	if (geteuid() != 0)
		SKIP("loading kernel programs needs root");
}

/* argv NULL: without a command. Else it waits for capture_release(). */
static inline void recording_begin(struct capture **c, const struct capture_options *options,
				   const struct capture_sink *sink, char *const argv[])
{
	failure = (struct error){0};
	CHECK_OK(capture_open(options, c, &failure));
	if (argv)
		CHECK_OK(capture_spawn(*c, argv, &failure));
	CHECK_OK(capture_start(*c, 0, sink, &failure));
}

/* Lets the command go: it was executed then, or could not be, which is returned. */
static inline int command_begin(struct capture *c)
{
	int begun = capture_release(c, &failure);

	while (!begun) {
		begun = capture_command_begun(c, &failure);
		usleep(1000);
	}
	return begun < 0 ? begun : 0;
}

/* Takes all until the child has ended; its wait status. The capture is stopped then. */
static inline int recording_end(struct capture *c, const struct capture_sink *sink, pid_t child)
{
	int status;
	u64 cut;

	while (waitpid(child, &status, WNOHANG) == 0) {
		CHECK_OK(capture_poll(c, sink));
		usleep(1000);
	}
	capture_stop(c);
	CHECK_EQ(capture_cut(c, sink, &cut), 0);
	return status;
}

/* Records the command from its first record to its last; its wait status. Close s->c. */
static inline int truth_record(struct seen *s, char *name)
{
	char *argv[] = TRUTH_COMMAND(name);
	struct capture_options options = {0};
	struct capture_sink sink = {s, seen_record, seen_lost};

	recording_begin(&s->c, &options, &sink, argv);
	CHECK_OK(capture_release(s->c, &failure));
	return recording_end(s->c, &sink, capture_child(s->c));
}

/* The main() of a program that is its own command, too. */
static inline int truth_main(const struct truth *truths, int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "--truth") != 0)
		return check_main(argc, argv);
	for (; truths->name; truths++) {
		if (strcmp(argv[2], truths->name) == 0)
			return truths->run();
	}
	return 3;
}

#endif
