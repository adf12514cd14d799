/* SPDX-License-Identifier: Apache-2.0 */
/* A live view as text that fits the screen, and as one line of JSON. */
#include "cli/top_view.h"

#include <stdlib.h>
#include <string.h>

#include "answer/json.h"
#include "cli/json_file.h"
#include "tests/unit/check.h"

#define ROWS 30

static struct row rows[ROWS];
static char names[ROWS][16];

static const struct live_part *parts_make(size_t first, size_t second)
{
	static struct live_part parts[2];

	for (int i = 0; i < ROWS; i++) {
		snprintf(names[i], sizeof(names[i]), "row%d", i);
		rows[i] = (struct row){.key = names[i], .count = 1, .total_ns = 1000000000};
		rows[i].time.ns[SPLIT_user] = 250000000;
		rows[i].time.ns[SPLIT_disk] = 750000000;
	}
	parts[0] = (struct live_part){"name", "total", rows, first};
	parts[1] = (struct live_part){"process", "cpu", rows, second};
	return parts;
}

static int width = 120;
static struct lost_view lost;

static char *text_of(const struct live_part *parts, size_t count, int lines)
{
	struct live view = {.from_ns = 5,
			    .to_ns = 1000000005,
			    .source = {.lost = lost},
			    .parts = parts,
			    .parts_count = count};
	char *text = NULL;
	size_t size;
	struct json json;
	struct terminal t = {.file = open_memstream(&text, &size), .width = width, .cut = true};

	json_init_file(&json, t.file);
	if (lines < 0)
		live_write_json(&json, &view);
	else
		top_write_text(&t, &view, lines);
	fclose(t.file);
	return text;
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

TEST(fits_the_screen)
{
	for (int lines = 6; lines <= 60; lines++) {
		char *text = text_of(parts_make(ROWS, ROWS), 2, lines);

		if (lines_of(text) > lines)
			CHECK_FAIL("%d lines on a screen of %d", lines_of(text), lines);
		free(text);
	}
}

TEST(a_small_part_leaves_its_room_to_the_other)
{
	char *text = text_of(parts_make(2, ROWS), 2, 25);

	CHECK(strstr(text, "row17 ") != NULL);
	CHECK(strstr(text, "row18 ") == NULL);
	CHECK_EQ(lines_of(text), 24); /* a line is kept for losses */
	free(text);
}

TEST(says_how_much_of_a_cpu_and_what_it_waited_for)
{
	char *text = text_of(parts_make(1, 0), 1, 0);

	CHECK(strstr(text, " 25.0%") != NULL);
	CHECK(strstr(text, "disk 75% user 25%") != NULL);
	free(text);
}

TEST(fits_the_width)
{
	lost = (struct lost_view){1000000, 1000000, 1000000, 1000000};
	for (width = 60; width <= 200; width++) {
		char *text = text_of(parts_make(2, 2), 2, 0), *save = NULL;

		CHECK(strstr(text, "disk 75%") != NULL);
		CHECK(strstr(text, "25.0%") != NULL);
		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (terminal_columns(line) > width)
				CHECK_FAIL("%d columns where there are %d: %s",
					   terminal_columns(line), width, line);
		free(text);
	}
	width = 120;
	lost = (struct lost_view){0};
}

TEST(json_is_one_line)
{
	char *text = text_of(parts_make(2, 3), 2, -1);

	CHECK_EQ(lines_of(text), 1);
	CHECK(strstr(text, "\"by\":{\"name\":[{\"key\":\"row0\"") != NULL);
	CHECK(strstr(text, "\"process\":[") != NULL);
	free(text);
}

TEST_MAIN()
