/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/json.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/read_options.h"
#include "cli/top_feed.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"

#define SECOND_NS 1000000000ull
#define PARTS_MAX 4
#define PLAIN_LINES 50 /* rows, if the height of the screen is unknown */

/* ---- one second ---- */

struct second {
	struct source source;
	struct rows rows[PARTS_MAX];
	struct live_part parts[PARTS_MAX];
	size_t parts_count;
};

/* A process that is older than the mapped records has its name only in /proc. */
static void row_name(struct row *row, char *(*keep)(struct rows *, const char *), struct rows *rows)
{
	char path[64], comm[32] = "";
	FILE *file;

	if (!row->pid || strcmp(row->key, "?") != 0)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", row->tid ? row->tid : row->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(comm, sizeof(comm), file)) {
		comm[strcspn(comm, "\n")] = '\0';
		row->key = keep(rows, comm);
		if (row->tid)
			row->thread = row->key;
		else
			row->process = row->key;
	}
	fclose(file);
}

static char *text_own(struct rows *rows, const char *text)
{
	char *copy = strdup(text);

	if (copy && vec_push(&rows->texts, copy)) {
		free(copy);
		copy = NULL;
	}
	return copy ? copy : (char *)"?";
}

static int frame_part(struct second *f, const char *by, const char *sort, struct error *e)
{
	struct rows *rows = &f->rows[f->parts_count];
	const struct grouping *grouping = grouping_find(by);
	size_t left = 0;
	int err = rows_build(rows, f->source.partial, grouping, sort);

	f->parts[f->parts_count].sort = sort ? sort : grouping->sort;
	f->parts[f->parts_count++].by = by;
	if (err)
		return error_set(e, err, "cannot add up the rows");
	for (size_t i = 0; i < rows->rows.count; i++) {
		struct row *row = &rows->rows.data[i];

		if (!row->total_ns)
			continue; /* ended before this second, or asleep during all of it */
		row_name(row, text_own, rows);
		rows->rows.data[left++] = *row;
	}
	f->parts[f->parts_count - 1].rows = rows->rows.data;
	f->parts[f->parts_count - 1].rows_count = left;
	return 0;
}

/* Sums up a second. JSON has all four parts; a screen has no room for threads. */
static int frame_build(struct second *f, const struct screen *s, bool json, struct error *e)
{
	static const char *const all[PARTS_MAX] = {"service", "name", "process", "thread"};
	size_t count = json ? 4 : 3;
	int err = 0;

	if (s->by)
		return frame_part(f, s->by, s->sort, e);
	for (size_t i = 0; i < count && !err; i++) {
		err = frame_part(f, all[i], s->sort, e);
		if (!err && !json && !f->parts[f->parts_count - 1].rows_count)
			rows_free(&f->rows[--f->parts_count]);
	}
	return err;
}

static void frame_rows_free(struct second *f)
{
	for (size_t i = 0; i < f->parts_count; i++)
		rows_free(&f->rows[i]);
	f->parts_count = 0;
}

static void live_write(const struct live *view)
{
	static const char help[] = "q quit  a all  n names  s services  p processes  t threads  "
				   "y syscalls  w causes | order: C cpu  T total  N count  9 p99  "
				   "M max  E errors\n";
	struct terminal t = terminal_of(stdout);
	int lines = screen_lines();
	char *text = NULL;
	size_t size = 0;

	t.file = open_memstream(&text, &size);
	if (!t.file)
		return;
	top_write_text(&t, view, lines - 1);
	terminal_rest(&t, help, t.width);
	fclose(t.file);
	screen_draw(text, lines);
	free(text);
}

static int frame_show(struct second *f, const struct screen *s, bool json, struct error *e)
{
	struct terminal t = terminal_of(stdout);
	struct json text;
	int err = frame_build(f, s, json, e);
	struct live view = {.from_ns = f->source.from_ns,
			    .to_ns = f->source.to_ns,
			    .source = f->source.view,
			    .parts = f->parts,
			    .parts_count = f->parts_count};

	if (!err && json) {
		json_init_file(&text, stdout);
		live_write_json(&text, &view);
	} else if (!err && s->live)
		live_write(&view);
	else if (!err)
		top_write_text(&t, &view, PLAIN_LINES);
	frame_rows_free(f);
	if (!err && fflush(stdout))
		err = error_set(e, errno, "cannot write");
	return err;
}

/* ---- the command ---- */

static int seconds_show(struct top_feed *feed, const struct top_options *o, struct screen *s,
			struct error *e)
{
	u64 begin = clock_now_ns(), next = begin;
	u64 end = o->duration_ns ? begin + o->duration_ns : UINT64_MAX;
	struct second frame = {0};
	int err = 0;

	for (u64 shown = 0; !err && !screen_ended(s) && next < end;) {
		next = next + SECOND_NS < end ? next + SECOND_NS : end;
		while (!err && !screen_ended(s) && clock_now_ns() < next)
			if (screen_wait(s, next) && frame.source.partial)
				err = frame_show(&frame, s, o->json, e);
		if (err || screen_ended(s))
			break;
		source_free(&frame.source);
		err = top_feed_next(feed, &frame.source, e);
		if (!err)
			err = frame_show(&frame, s, o->json, e);
		if (++shown == o->count)
			break;
		if (clock_now_ns() > next + SECOND_NS)
			next = clock_now_ns(); /* it cannot keep up: show longer intervals */
	}
	source_free(&frame.source);
	return err;
}

static int top_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct top_options *o = fields;
	struct screen screen = {.by = o->by, .sort = o->sort};
	struct top_feed *feed = NULL;
	int err;

	screen_signals();
	err = top_feed_open(&feed, o, e);
	if (!err) {
		if (!o->json && !o->count)
			screen_open(&screen);
		err = seconds_show(feed, o, &screen, e);
		screen_close(&screen);
	}
	top_feed_close(feed);
	screen_pipe_end();
	return err;
}

const struct command command_top = {
	.name = "top",
	.summary = "show live what services and processes wait for",
	.usage = top_usage,
	.description =
		"Records the host in chunks of one second, and shows services, names of spans and\n"
		"processes with their time split as each chunk arrives. With DIR it follows the\n"
		"recorder of that directory, and makes it seal a chunk each second. Keys on a\n"
		"terminal: q quits, a n s p t y w choose the rows, C T N 9 M E sort them.",
	.examples = "  fathom top\n"
		    "  fathom top -p $(pidof redis-server)\n"
		    "  fathom top --once --json | jq .by.process[0]\n",
	.options = top_option_table,
	.options_bytes = sizeof(struct top_options),
	.check = top_options_check,
	.run = top_run,
	.release = top_options_release,
};
