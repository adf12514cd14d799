/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a report in each width: which columns and parts it shows. */
#include "cli/report_text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define MS 1000000ull

/* The widest row: a long name, wide numbers, four large parts; and a short row with errors. */
static const struct row rows[] = {
	{.key = "GET /a/name/that/is/long",
	 .service = "a-service-with-a-name",
	 .count = 123456,
	 .total_ns = 1000 * MS,
	 .p50_ns = 12345678,
	 .p95_ns = 23456789,
	 .p99_ns = 34567890,
	 .max_ns = 45678901,
	 .time.ns = {[SPLIT_runnable] = 510 * MS,
		     [SPLIT_network] = 200 * MS,
		     [SPLIT_throttled] = 190 * MS,
		     [SPLIT_kernel] = 90 * MS,
		     [SPLIT_user] = 10 * MS}},
	{.key = "read",
	 .count = 1,
	 .errors = 7301,
	 .total_ns = 1 * MS,
	 .p50_ns = 1 * MS,
	 .p95_ns = 1 * MS,
	 .p99_ns = 1 * MS,
	 .max_ns = 1 * MS,
	 .time.ns = {[SPLIT_disk] = 1 * MS}},
};

static char *table(const struct row *of, size_t count, const char *by, int width)
{
	const struct report report = {
		.by = by, .sort = "total", .to_ns = 2000 * MS, .rows = of, .rows_count = count};
	char *text = NULL;
	size_t size;
	struct terminal t = {
		.file = open_memstream(&text, &size), .width = width ? width : 120, .cut = width};

	report_write_text(&t, &report);
	fclose(t.file);
	return text;
}

static void shows(const char *text, int width, const char *what)
{
	if (!strstr(text, what))
		CHECK_FAIL("no '%s' in %d columns:\n%s", what, width, text);
}

TEST(no_line_is_longer)
{
	for (int width = 60; width <= 200; width++) {
		char *text = table(rows, 2, "name", width), *save = NULL;

		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (terminal_columns(line) > width)
				CHECK_FAIL("%d columns where there are %d: %s",
					   terminal_columns(line), width, line);
		free(text);
	}
}

TEST(numbers_matter_more_than_bars_and_names)
{
	for (int width = 60; width <= 200; width++) {
		char *text = table(rows, 2, "name", width);

		shows(text, width, "runnable 51%");
		if (width >= 80) {
			shows(text, width, " p50 ");
			shows(text, width, " p95 ");
			shows(text, width, " max ");
			shows(text, width, "12.3 ms");
		}
		if (width >= 120) {
			shows(text, width, " p99 ");
			shows(text, width, "34.5 ms");
			shows(text, width, "runnable 51% network 20% throttled 19%");
		}
		free(text);
	}
}

TEST(what_is_left_out_is_said)
{
	char *text = table(rows, 2, "name", 80);

	shows(text, 80,
	      "p99 and parts of time left out: the terminal is 80 columns wide; --json has all\n");
	free(text);
	text = table(rows, 2, "name", 200);
	CHECK(!strstr(text, "left out"));
	shows(text, 200, "kernel 9%");
	free(text);
	text = table(rows, 2, "name", 0);
	CHECK(!strstr(text, "left out"));
	shows(text, 0, "GET /a/name/that/is/long (a-service-with-a-name)");
	shows(text, 0, "kernel 9%");
	free(text);
}

TEST(no_time_and_no_count_is_no_line)
{
	const unsigned int absent = ROW_NO_ERRORS | ROW_NO_PERCENTILES;
	const struct row causes[] = {
		{.key = "user", .total_ns = MS, .absent = absent, .time.ns = {[SPLIT_user] = MS}},
		{.key = "disk", .absent = absent},
	};
	char *text = table(causes, 2, "cause", 100);

	shows(text, 100, "1 row by cause");
	CHECK(!strstr(text, "disk"));
	CHECK(!strstr(text, "0 ns"));
	CHECK(!strstr(text, "left out"));
	free(text);
}

/* A report of several hosts names them, and has no time that is that of all. */
TEST(rows_of_several_hosts_name_theirs)
{
	static const struct row row = {.key = "read",
				       .host = "web",
				       .pid = 12,
				       .count = 1,
				       .total_ns = 1 * MS,
				       .time.ns = {[SPLIT_disk] = 1 * MS}};
	static const struct gap_view gap = {.host = "web", .from_ns = 5, .to_ns = 9};
	const struct report report = {.by = "process",
				      .sort = "cpu",
				      .hosts = 2,
				      .rows = &row,
				      .rows_count = 1,
				      .source = {.gaps = &gap, .gaps_count = 1}};
	char *text = NULL;
	size_t size;
	struct terminal t = {.file = open_memstream(&text, &size), .width = 120};

	report_write_text(&t, &report);
	fclose(t.file);
	shows(text, 0, "1 row by process of 2 hosts, sorted by cpu\n");
	shows(text, 0, "\nweb: read (pid 12) ");
	shows(text, 0, "\ngap: nothing was recorded on web for 4 ns (5 to 9)\n");
	free(text);
}

/* The steps to and from a pause, and the gap that it is. */
TEST(a_pause_is_told_with_its_reason)
{
	static const struct gap_view gap = {.from_ns = 5, .to_ns = 9, .why = "budget"};
	static const struct step_view steps[] = {{.time_ns = 5,
						  .from = "waits,bytes",
						  .to = "nothing",
						  .why = "above",
						  .budget_ppm = 30000,
						  .cost_ppm = 45000},
						 {.time_ns = 9,
						  .from = "nothing",
						  .to = "waits",
						  .why = "below",
						  .budget_ppm = 30000}};
	const struct report report = {
		.by = "process",
		.sort = "cpu",
		.source = {.gaps = &gap, .gaps_count = 1, .steps = steps, .steps_count = 2}};
	char *text = NULL;
	size_t size;
	struct terminal t = {.file = open_memstream(&text, &size)};

	report_write_text(&t, &report);
	fclose(t.file);
	shows(text, 0,
	      "gap: nothing was recorded for 4 ns (5 to 9): the recorder paused to hold "
	      "its budget\n");
	shows(text, 0,
	      "on nothing was recorded: waits,bytes took 4.5 % of the CPUs, and --budget "
	      "allows 3 %\n");
	shows(text, 0, "on waits were recorded again\n");
	free(text);
}

TEST_MAIN()
