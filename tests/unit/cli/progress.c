/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define MB (1024 * 1024)

static char text[4096];

/* Runs a line through a loading of 8 MB with a notice in its middle; text gets what it wrote. */
static void run(FILE *file, struct progress_line *line)
{
	const struct load_progress progress = progress_line_of(line);
	const struct notice notice = progress_line_notice(line);

	progress.tell(progress.arg, 2 * MB, 8 * MB);
	line->next_ns = 0; /* as if it had taken a while */
	progress.tell(progress.arg, 4 * MB, 8 * MB);
	progress.tell(progress.arg, 5 * MB, 8 * MB); /* too soon after */
	notice_tell(&notice, "a chunk is damaged");
	line->next_ns = 0;
	progress.tell(progress.arg, 8 * MB, 8 * MB);
	progress_line_end(line);
	progress_line_end(line);
	fflush(file);
}

TEST(the_line_is_rewritten_and_erased)
{
	FILE *file = fmemopen(text, sizeof(text), "w");
	struct progress_line line = progress_line_begin(file);

	line.terminal = true;
	run(file, &line);
	fclose(file);
	CHECK_STR(text, "\r\033[Kreading: 50 % of 8.00 M"
			"\r\033[Kfathom: a chunk is damaged\n"
			"\r\033[Kreading: 100 % of 8.00 M"
			"\r\033[K");
}

TEST(a_pipe_gets_notices_only)
{
	int ends[2];
	struct progress_line line;
	FILE *file;

	CHECK_EQ(pipe(ends), 0);
	file = fdopen(ends[1], "w");
	line = progress_line_begin(file);
	run(file, &line);
	fclose(file);
	memset(text, 0, sizeof(text));
	CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
	CHECK_STR(text, "fathom: a chunk is damaged\n");
	close(ends[0]);
}

TEST(a_terminal_that_can_erase_has_a_line)
{
	int user, program;
	FILE *file;

	if (openpty(&user, &program, NULL, NULL, NULL))
		SKIP("there are no pseudo-terminals");
	file = fdopen(program, "w");
	setenv("TERM", "xterm", 1);
	CHECK(progress_line_begin(file).terminal);
	setenv("TERM", "dumb", 1);
	CHECK(!progress_line_begin(file).terminal);
	fclose(file);
	close(user);
}

TEST_MAIN()
