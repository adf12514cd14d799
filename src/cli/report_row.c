/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/bar.h"
#include "cli/command_text.h"

#define PARTS_SHOWN 3 /* as numbers after the bar, if there is room; large ones always */
#define LARGE_PERCENT 5
#define COMMAND_LEAST 12 /* columns of a command, before the pid is cut */

/* Moves behind what was written, within the size. */
static size_t behind(char **text, size_t size, int length)
{
	if (length < 0)
		length = 0;
	if ((size_t)length >= size)
		length = size ? (int)size - 1 : 0;
	*text += length;
	return size - (size_t)length;
}

/* "cc1 -quiet main.c (pid 12)" */
static void process_label(const struct row *row, const char *name, int columns, char *text,
			  size_t size)
{
	char pid[24] = "", command[ROW_LABEL_BYTES];
	int room;

	if (row->pid)
		snprintf(pid, sizeof(pid), " (pid %u)", row->pid);
	room = columns - (int)strlen(pid);
	if (row->command)
		command_shorten(row->command, room < COMMAND_LEAST ? COMMAND_LEAST : room, command,
				sizeof(command));
	else
		snprintf(command, sizeof(command), "%s", name);
	snprintf(text, size, "%s%s", command, pid);
}

void row_label(const struct row *row, int columns, bool second, char *text, size_t size)
{
	const char *name = row->values[0] ? row->values[second] : row->key;
	char several[128];
	bool of_process = (row->process && strcmp(row->process, name) == 0) ||
			  (row->command && strcmp(row->command, name) == 0);

	if (row->addresses_count > 1 && !second && !row->values[0]) {
		snprintf(several, sizeof(several), "%s and %zu more", name,
			 row->addresses_count - 1);
		name = several;
	}
	if (row->host && !second)
		size = behind(&text, size, snprintf(text, size, "%s: ", row->host));
	if (row->tid && row->process && row->thread && strcmp(row->process, row->thread) != 0)
		snprintf(text, size, "%s (%s, tid %u)", name, row->process, row->tid);
	else if (row->tid)
		snprintf(text, size, "%s (tid %u)", name, row->tid);
	else if (row->values[0] && !of_process)
		snprintf(text, size, "%s", name);
	else if (row->pid || row->command)
		process_label(row, name, columns, text, size);
	else if (row->several_namespaces && !row->values[0])
		snprintf(text, size, "%s, network namespace %" PRIu64, name,
			 row->network_namespace);
	else if (row->service && row->connections > 1)
		snprintf(text, size, "%s (%s), %" PRIu64 " connections", name, row->service,
			 row->connections);
	else if (row->service && strcmp(row->service, name) != 0 &&
		 !(row->absent & ROW_OF_REQUESTS))
		snprintf(text, size, "%s (%s)", name, row->service);
	else if (row->mount_namespace && !row->values[0])
		snprintf(text, size, "%s, mount namespace %" PRIu64, name, row->mount_namespace);
	else if (row->connections > 1 && !row->values[0])
		snprintf(text, size, "%s, %" PRIu64 " connections", name, row->connections);
	else
		snprintf(text, size, "%s", name);
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
	struct split work = split_work(&row->time);
	int large = large_parts(&work);

	if (most)
		return most < large ? most : large;
	return large > PARTS_SHOWN ? large : PARTS_SHOWN;
}

#define ERRORS_NAMED 2
#define NUMBERS_BYTES 1024 /* all parts of a split, errors and the rest take less than half */

/* "159 ENOENT 3 EACCES": the most frequent errors by name. */
static void errors_write(FILE *file, const struct row *row)
{
	uint64_t rest = row->errors;

	fputs(" ", file);
	for (size_t i = 0; i < row->errnos_count && i < ERRORS_NAMED; i++) {
		const struct row_errno *e = &row->errnos[i];

		fprintf(file, " %" PRIu64 " %s", e->count, row_errno_name(e));
		rest -= e->count < rest ? e->count : rest;
	}
	if (rest)
		fprintf(file, " %" PRIu64 " %serror%s", rest, row->errnos_count ? "other " : "",
			rest == 1 ? "" : "s");
}

char *row_numbers(const struct row *row, int most)
{
	char *text = calloc(1, NUMBERS_BYTES); /* a stream that grows would clear 8 KiB */
	struct terminal memory = {.file = text ? fmemopen(text, NUMBERS_BYTES, "w") : NULL};
	char ns[UNITS_TEXT_BYTES];

	if (!memory.file) {
		free(text);
		return NULL;
	}
	if (!(row->absent & ROW_NO_SPLIT) && split_total(&row->time)) {
		struct split work = split_work(&row->time);
		bool idle = split_total(&work) == 0;

		if (idle)
			fputs(split_part_name(SPLIT_idle), memory.file);
		else
			bar_percents(&memory, &work, parts_shown(row, most));
	}
	if (!(row->absent & ROW_NO_ERRORS) && row->errors)
		errors_write(memory.file, row);
	if (row->unsure)
		fprintf(memory.file, "  %" PRIu64 "%% unsure",
			(row->unsure * 100 + row->count - 1) / row->count);
	if (row->with_callees_ns)
		fprintf(memory.file, "  %s with callees",
			units_format_ns((int64_t)row->with_callees_ns, ns));
	fclose(memory.file);
	return text;
}

bool row_numbers_write(const struct terminal *t, const struct row *row, int room)
{
	struct split work = split_work(&row->time);
	int large = large_parts(&work), most = large;
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
