/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of the golden tests of views. Prints a case in a format: json, txt, color, or a number
 * of columns, for a terminal of that width. tests/golden/<case>/expected.<format> has the text that
 * it must print.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/golden/views.h"

static const struct clock_view clocks[] = {
	{"web-1", "2b9c52c2-7d0e-4f4e-9a44-0d7c0d1f3a11", T0, 1763700000000000000},
	{"web-1", "2b9c52c2-7d0e-4f4e-9a44-0d7c0d1f3a11", T0 + 1000 * MS, 1763700001000000500},
};
static const struct gap_view gaps[] = {{NULL, T0 + 500 * MS, T0 + 620 * MS, NULL}};

const struct source_view source_whole = {.clocks = clocks, .clocks_count = 1};
const struct source_view source_damaged = {
	.clocks = clocks,
	.clocks_count = 2,
	.lost = {.buffer = 12, .recursion = 1, .damaged = 300},
	.incomplete = 4,
	.gaps = gaps,
	.gaps_count = 1,
	.steal_ns = 60 * MS,
	.cpu_ns = 2000 * MS,
};

static const struct view_case *const cases[] = {report_cases, trace_cases, host_cases};

int main(int argc, char **argv)
{
	struct terminal t = {.file = stdout, .width = 110};

	setenv("TZ", "UTC", 1); /* top shows the time of day */
	if (argc == 3) {
		t.color = strcmp(argv[2], "color") == 0;
		t.cut = t.color || atoi(argv[2]);
		if (atoi(argv[2]))
			t.width = atoi(argv[2]);
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (const struct view_case *c = cases[i]; c->name; c++) {
			if (argc != 3) {
				puts(c->name);
			} else if (strcmp(c->name, argv[1]) == 0) {
				c->show(&t, argv[2]);
				return 0;
			}
		}
	}
	if (argc != 3)
		return 0;
	fprintf(stderr, "no such case: %s\n", argv[1]);
	return 2;
}
