/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bar.h"

#include <string.h>

/* The 256-color number and the letter of a part. */
static const struct {
	int color;
	char letter;
} looks[SPLIT_PARTS_COUNT] = {
	[SPLIT_user] = {34, 'u'},	 [SPLIT_kernel] = {28, 'k'},
	[SPLIT_runnable] = {220, 'r'},	 [SPLIT_throttled] = {202, 'q'},
	[SPLIT_disk] = {196, 'd'},	 [SPLIT_network] = {39, 'n'},
	[SPLIT_lock] = {201, 'l'},	 [SPLIT_timer] = {244, 't'},
	[SPLIT_ipc] = {51, 'i'},	 [SPLIT_fault] = {130, 'f'},
	[SPLIT_child] = {99, 'c'},	 [SPLIT_other] = {250, 'o'},
	[SPLIT_off_thread] = {238, '-'}, [SPLIT_unknown] = {255, '?'},
	[SPLIT_cpu] = {71, 'x'},	 [SPLIT_idle] = {236, '.'},
};

/* The total of the shown parts. split_sum() is not usable here, since parts may have wrapped. */
static unsigned __int128 bar_total(const struct split *split)
{
	unsigned __int128 total = 0;

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		total += split->ns[i] > 0 ? (uint64_t)split->ns[i] : 0;
	return total;
}

void bar_apportion(const struct split *split, int cells, int parts[SPLIT_PARTS_COUNT])
{
	unsigned __int128 rest[SPLIT_PARTS_COUNT] = {0};
	unsigned __int128 total = bar_total(split);
	int left = cells;

	memset(parts, 0, SPLIT_PARTS_COUNT * sizeof(*parts));
	if (total == 0)
		return;
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		uint64_t ns = split->ns[i] > 0 ? (uint64_t)split->ns[i] : 0;
		unsigned __int128 share = (unsigned __int128)ns * (unsigned int)cells;

		if (!ns)
			continue;
		parts[i] = (int)(share / total);
		rest[i] = share % total;
		left -= parts[i];
	}
	while (left > 0) {
		int largest = 0;

		for (int i = 1; i < SPLIT_PARTS_COUNT; i++) {
			if (rest[i] > rest[largest])
				largest = i;
		}
		parts[largest]++;
		rest[largest] = 0;
		left--;
	}
}

void bar_write(const struct terminal *t, const struct split *split, int cells)
{
	int parts[SPLIT_PARTS_COUNT];
	int written = 0;

	bar_apportion(split, cells, parts);
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		if (parts[i] == 0)
			continue;
		terminal_color(t, looks[i].color);
		for (int cell = 0; cell < parts[i]; cell++) {
			if (t->color)
				fputs("█", t->file);
			else
				putc_unlocked(looks[i].letter, t->file);
		}
		terminal_reset(t);
		written += parts[i];
	}
	terminal_spaces(t, cells - written);
}

void bar_mark(const struct split *split, bool used[SPLIT_PARTS_COUNT])
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		if (split->ns[i] > 0)
			used[i] = true;
	}
}

/* Whether the legend continues in a new line with this part; *columns of the line are used. */
static bool legend_breaks(const struct terminal *t, int part, int *columns)
{
	int wide = (int)strlen(split_part_name((unsigned int)part)) + 2;
	bool breaks = *columns && t->cut && *columns + 2 + wide > t->width;

	*columns = *columns && !breaks ? *columns + 2 + wide : wide;
	return breaks;
}

int bar_legend_lines(const struct terminal *t, const bool used[SPLIT_PARTS_COUNT])
{
	int columns = 0, lines = 0;

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		if (used[i])
			lines += legend_breaks(t, i, &columns);
	return lines + (columns > 0);
}

void bar_legend(const struct terminal *t, const bool used[SPLIT_PARTS_COUNT])
{
	int columns = 0;

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		bool first = columns == 0;

		if (!used[i])
			continue;
		if (legend_breaks(t, i, &columns))
			putc('\n', t->file);
		else if (!first)
			fputs("  ", t->file);
		terminal_color(t, looks[i].color);
		if (t->color)
			fputs("█", t->file);
		else
			putc(looks[i].letter, t->file);
		terminal_reset(t);
		fprintf(t->file, " %s", split_part_name((unsigned int)i));
	}
	if (columns)
		putc('\n', t->file);
}

int bar_percents(const struct terminal *t, const struct split *split, int most)
{
	bool done[SPLIT_PARTS_COUNT] = {false};
	__int128 total = (__int128)bar_total(split);
	int columns = 0;

	for (int n = 0; n < most && total > 0; n++) {
		int largest = -1, percent;

		for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
			if (!done[i] && (largest < 0 || split->ns[i] > split->ns[largest]))
				largest = i;
		}
		if (largest < 0)
			break;
		percent = (int)((__int128)split->ns[largest] * 100 / total);
		if (percent < 1)
			break;
		done[largest] = true;
		columns += fprintf(t->file, "%s%s %d%%", n ? " " : "",
				   split_part_name((unsigned int)largest), percent);
	}
	return columns;
}
