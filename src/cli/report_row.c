/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"

#define PARTS_SHOWN 3 /* as numbers after the bar, if there is room; large ones always */
#define LARGE_PERCENT 5

void row_label(const struct row *row, char *text, size_t size)
{
	if (row->host) {
		int length = snprintf(text, size, "%s: ", row->host);

		length = length < (int)size ? length : (int)size - 1;
		text += length;
		size -= (size_t)length;
	}
	if (row->tid && row->process && row->thread && strcmp(row->process, row->thread) != 0)
		snprintf(text, size, "%s (%s, tid %u)", row->key, row->process, row->tid);
	else if (row->tid)
		snprintf(text, size, "%s (tid %u)", row->key, row->tid);
	else if (row->pid)
		snprintf(text, size, "%s (pid %u)", row->key, row->pid);
	else if (row->service && strcmp(row->service, row->key) != 0)
		snprintf(text, size, "%s (%s)", row->key, row->service);
	else
		snprintf(text, size, "%s", row->key);
}

/* The number of significant parts; at least the largest. */
static int large_parts(const struct split *split)
{
	unsigned __int128 total = (unsigned __int128)split_total(split);
	int count = 0;

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		if (split->ns[i] > 0 &&
		    (unsigned __int128)split->ns[i] * 100 >= LARGE_PERCENT * total)
			count++;
	return count ? count : 1;
}

/* The number of parts to show if at most `most` are wanted; 0: all significant ones. */
static int parts_shown(const struct row *row, int most)
{
	int large = large_parts(&row->time);

	if (most)
		return most < large ? most : large;
	return large > PARTS_SHOWN ? large : PARTS_SHOWN;
}

char *row_numbers(const struct row *row, int most)
{
	char *text = NULL;
	size_t size = 0;
	struct terminal memory = {.file = open_memstream(&text, &size)};

	if (!memory.file)
		return NULL;
	if (!(row->absent & ROW_NO_SPLIT))
		bar_percents(&memory, &row->time, parts_shown(row, most));
	if (!(row->absent & ROW_NO_ERRORS) && row->errors)
		fprintf(memory.file, "  %" PRIu64 " error%s", row->errors,
			row->errors == 1 ? "" : "s");
	fclose(memory.file);
	return text;
}

bool row_numbers_write(const struct terminal *t, const struct row *row, int room)
{
	int large = large_parts(&row->time), most = large;
	char *text = row_numbers(row, 0);

	if (t->cut && text && terminal_columns(text) > room) {
		do {
			free(text);
			text = row_numbers(row, most);
		} while (text && terminal_columns(text) > room && --most > 0);
	}
	if (text)
		terminal_rest(t, text, room);
	if (t->cut && text && terminal_columns(text) > room)
		most = 0;
	free(text);
	return most == large;
}
