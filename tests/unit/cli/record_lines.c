/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_lines.h"

#include <stdlib.h>

#include "tests/unit/check.h"
#include "tests/unit/cli/parse.h"

static char *text;
static size_t size;

static const char *begins(const char *line)
{
	struct record_options o = {0};
	FILE *file;

	free(text);
	CHECK_EQ(parse(record_option_table, &o, line, record_options_check), 0);
	file = open_memstream(&text, &size);
	record_begin_print(file, &o, &parse_operands);
	fclose(file);
	record_options_release(&o);
	return text;
}

static const char *rates(uint64_t bytes, uint64_t seconds, bool compress)
{
	FILE *file;

	free(text);
	file = open_memstream(&text, &size);
	record_rate_print(file, bytes, seconds * 1000000000, compress);
	fclose(file);
	return text;
}

TEST(waits_of_the_host)
{
	CHECK_STR(begins(""), "fathom: recording waits of the whole host; Ctrl-C ends it; --detail "
			      "calls records each call, too\n");
	CHECK_STR(begins("-d 10"), "fathom: recording waits of the whole host for 10.0 s; --detail "
				   "calls records each call, too\n");
	CHECK_STR(begins("-a -- true"),
		  "fathom: recording waits of the whole host while the command "
		  "runs; --detail calls records each call, too\n");
	CHECK_STR(begins("--detail waits"),
		  "fathom: recording waits of the whole host; Ctrl-C ends it\n");
}

TEST(calls)
{
	CHECK_STR(begins("--detail calls"),
		  "fathom: recording calls of the whole host; Ctrl-C ends "
		  "it; --detail waits costs less\n");
	CHECK_STR(begins("-p 1"),
		  "fathom: recording calls of the process and its children; Ctrl-C ends it\n");
	CHECK_STR(begins("-p 1 --no-children"),
		  "fathom: recording calls of the process; Ctrl-C ends it\n");
	CHECK_STR(begins("--cgroup a --cgroup b"),
		  "fathom: recording calls of the chosen cgroups; Ctrl-C ends it\n");
	CHECK_STR(begins("--syscalls read"),
		  "fathom: recording calls of the whole host; Ctrl-C ends it; calls, not waits "
		  "alone, because --syscalls is given\n");
	CHECK_STR(begins("-- true"), "");
	CHECK_STR(begins("--detail waits -- true"), "");
	CHECK_STR(begins("--flight -- true"),
		  "fathom: recording waits of the command in memory; --detail calls "
		  "records each call, too\n");
}

TEST(rate)
{
	CHECK_STR(rates(3879732, 10, false), "fathom: 1.30 GB an hour at this rate\n");
	CHECK_STR(rates(3879732, 10, true),
		  "fathom: 1.30 GB an hour at this rate, before it is compressed\n");
	CHECK_STR(rates(0, 10, false), "fathom: 0 B an hour at this rate\n");
}

TEST_MAIN()
