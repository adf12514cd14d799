/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/grouping.h"
#include "answer/json.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/read_options.h"
#include "cli/top_feed.h"
#include "cli/top_red.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"

#define SECOND_NS 1000000000ull
#define PLAIN_LINES 50 /* rows, if the height of the screen is unknown */

/* ---- one second ---- */

/* A process that is older than the mapped records has its name only in /proc. */
static bool proc_name(void *arg, uint32_t pid, uint32_t tid, char name[32])
{
	char path[64];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid ? tid : pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fgets(name, 32, file);
	fclose(file);
	if (found)
		name[strcspn(name, "\n")] = '\0';
	return found;
}

static int part_add(struct live_rows *rows, const struct source *source,
		    const struct live_choice *choice, struct error *e)
{
	const struct live_names names = {.find = proc_name};
	int err = live_rows_add(rows, source, choice, &names);

	return err ? error_set(e, err, "cannot add up the rows") : 0;
}

/* With a directory, processes and a cgroup choose rows, else what is recorded. */
static struct filter filter_of_top(const struct top_options *o)
{
	struct filter filter = filter_of(&o->filter);

	if (!o->dir)
		return filter;
	filter.pids = o->pids.data;
	filter.pids_count = o->pids.count;
	filter.cgroup = o->cgroups.count ? o->cgroups.data[0] : NULL;
	return filter;
}

/*
 * Sums up a second. JSON has all four parts; a screen has no room for threads. Parts that the
 * filter does not suit are left out.
 */
static int rows_make(struct live_rows *rows, const struct source *source, const struct screen *s,
		     const struct top_options *o, struct error *e)
{
	static const char *const all[LIVE_PARTS_MAX] = {"service", "name", "process", "thread"};
	struct live_choice choice = {.by = s->by, .sort = s->sort, .filter = filter_of_top(o)};
	size_t count = o->json ? 4 : 3;
	struct error why = {0};
	struct grouping by;
	int err = 0;

	if (s->by)
		return part_add(rows, source, &choice, e);
	for (size_t i = 0; i < count && !err; i++) {
		choice.by = all[i];
		if (grouping_make(&by, all[i], &choice.filter, &why))
			continue;
		err = part_add(rows, source, &choice, e);
		if (!err && !o->json && !rows->parts[rows->count - 1].rows_count)
			live_rows_drop(rows);
	}
	for (size_t i = 0; i < rows->count && o->limit; i++)
		if (rows->parts[i].rows_count > o->limit)
			rows->parts[i].rows_count = o->limit;
	return err;
}

static void live_write(const struct live *view, const struct top_options *o)
{
	static const char help[] = "q quit  a all  n names  s services  p processes  t threads  "
				   "y syscalls  w causes  r requests  e edges | order: C cpu  T "
				   "total  N count  9 p99  "
				   "M max  E errors\n";
	struct terminal t = terminal_of(stdout);
	int lines = screen_lines(), room;
	char *text = NULL;
	size_t size = 0;

	t.file = open_memstream(&text, &size);
	if (!t.file)
		return;
	room = lines - 1 - (int)top_red_print(t.file, o->dir);
	top_write_text(&t, view, room > 1 ? room : 1);
	terminal_rest(&t, help, t.width);
	fclose(t.file);
	screen_draw(text, lines);
	free(text);
}

static int second_show(const struct source *source, const struct screen *s,
		       const struct top_options *o, struct error *e)
{
	struct terminal t = terminal_of(stdout);
	struct live_rows rows = {0};
	struct json text;
	int err = rows_make(&rows, source, s, o, e);
	const struct live view = live_of(source, &rows);

	if (!err && o->json) {
		json_init_file(&text, stdout);
		live_write_json(&text, &view);
	} else if (!err && s->live) {
		live_write(&view, o);
	} else if (!err) {
		top_red_print(t.file, o->dir);
		top_write_text(&t, &view, PLAIN_LINES);
	}
	live_rows_free(&rows);
	/* a write that failed while the buffer filled shows in ferror() alone */
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = error_set(e, errno ? errno : EIO, "cannot write the output");
	return err;
}

/* ---- the command ---- */

static int seconds_show(struct top_feed *feed, const struct top_options *o, struct screen *s,
			struct error *e)
{
	u64 begin = clock_now_ns(), next = begin;
	u64 end = o->duration_ns ? begin + o->duration_ns : UINT64_MAX;
	struct source source = {0};
	int err = 0;

	for (u64 shown = 0; !err && !screen_ended(s) && next < end;) {
		next = next + SECOND_NS < end ? next + SECOND_NS : end;
		while (!err && !screen_ended(s) && clock_now_ns() < next)
			if (screen_wait(s, next) && source.partial)
				err = second_show(&source, s, o, e);
		if (err || screen_ended(s))
			break;
		source_free(&source);
		err = top_feed_next(feed, s->by, &source, e);
		if (!err)
			err = second_show(&source, s, o, e);
		if (++shown == o->count)
			break;
		if (clock_now_ns() > next + SECOND_NS)
			next = clock_now_ns(); /* it cannot keep up: show longer intervals */
	}
	source_free(&source);
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
		"Records the waits of the host in chunks of one second, and shows services, names\n"
		"of spans and processes with their time split as each chunk arrives. Of processes\n"
		"and cgroups it records each call. With DIR it follows the recorder of that\n"
		"directory, and makes it seal a chunk each second. Keys on a terminal: q quits,\n"
		"a n s p t y w r e choose the rows, C W T N 9 M E sort them. Rows of requests\n"
		"(--by operation or edge) are of the last ten seconds, the slowest first.",
	.examples = "  fathom top\n"
		    "  fathom top -p $(pidof redis-server)\n"
		    "  fathom top --once --json | jq .by.process[0]\n",
	.options = top_option_table,
	.options_bytes = sizeof(struct top_options),
	.takes_recordings = true,
	.check = top_options_check,
	.run = top_run,
	.release = top_options_release,
};
