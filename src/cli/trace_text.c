/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waterfall: a line for each span with its place in the tree, its bar on the time
 * line of the trace, its duration, and its details.
 */
#include "cli/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wall_time.h"
#include "cli/answer_text.h"
#include "cli/bar.h"
#include "cli/command_text.h"
#include "cli/span_details.h"
#include "cli/trace_tree.h"

#define DEPTH_SHOWN 40 /* deeper spans are not indented further */
#define LABEL_LEAST 16
#define NAME_KEPT 11	  /* minimal columns of a name after its tree lines */
#define OFFSET_COLUMNS 11 /* " +12.3 ms" */
#define NARROW 120	  /* on a narrower line, arguments use the room of the bar */

/* Writes the bar of a span on the time line of the trace; at least one cell wide. */
static void place_write(const struct terminal *t, const struct trace_tree *tree,
			const struct span *span, int cells)
{
	uint64_t length = tree->end_ns - tree->begin_ns;
	unsigned __int128 scaled = (unsigned __int128)(span->begin_ns - tree->begin_ns);
	int from = 0, width = cells;

	if (length > 0) {
		from = (int)(scaled * (unsigned int)cells / length);
		scaled = (unsigned __int128)(span->end_ns - tree->begin_ns) * (unsigned int)cells;
		width = (int)((scaled + length - 1) / length) - from;
	}
	if (from >= cells)
		from = cells - 1;
	if (width < 1)
		width = 1;
	terminal_spaces(t, from);
	if (split_total(&span->time) > 0)
		bar_write(t, &span->time, width);
	else
		terminal_cell(t, "|", width);
	terminal_spaces(t, cells - from - width);
}

/* Writes the tree lines before the name; more[depth]: siblings follow. */
static void label_write(const struct terminal *t, const char *name, const bool *more, int depth,
			int width)
{
	int columns = 0, kept = terminal_columns(name);

	if (kept > NAME_KEPT)
		kept = NAME_KEPT;
	if (depth > DEPTH_SHOWN)
		depth = DEPTH_SHOWN;
	for (int i = 1; i <= depth && columns + 2 + kept <= width; i++) {
		bool last = i == depth;

		fputs_unlocked(last ? (more[i] ? "├─" : "└─") : (more[i] ? "│ " : "  "), t->file);
		columns += 2;
	}
	terminal_cell(t, name, width - columns);
}

static void event_write(const struct terminal *t, const struct trace_tree *tree,
			const struct event *event, int indent)
{
	char text[UNITS_TEXT_BYTES];

	fprintf(t->file, "%*s* +%s ", 2 * indent + 2, "",
		units_format_ns((int64_t)(event->time_ns - tree->begin_ns), text));
	if (event->level != EVENT_NO_LEVEL)
		fprintf(t->file, "%s ", level_name(event->level));
	terminal_text(t, event->name);
	attributes_write(t, event->attributes, event->attributes_count);
}

/* "function+0x1f (file)": a line for each call, under its wait. */
static void frame_write(const struct terminal *t, const struct frame *frame, int indent)
{
	fprintf(t->file, "%*s", 2 * indent + 4, "");
	if (frame->function) {
		terminal_text(t, frame->function);
		fprintf(t->file, "+0x%" PRIx64, frame->offset);
	} else {
		fprintf(t->file, "0x%" PRIx64, frame->address);
	}
	if (frame->file) {
		fputs(" (", t->file);
		terminal_text(t, frame->file);
		if (!frame->function && !frame->kernel)
			fprintf(t->file, "+0x%" PRIx64, frame->file_offset);
		putc(')', t->file);
	}
}

/* Writes the lines below a span, each cut to the width of the terminal. 0 or -ENOMEM. */
static int below_write(const struct terminal *t, const struct trace_tree *tree,
		       const struct span *span, int indent)
{
	size_t frames = span->frames_count + span->frames_cut, lines = span->events_count + frames;

	for (size_t i = 0; i < lines; i++) {
		struct terminal line = *t;
		char *text = NULL;
		size_t size = 0;

		line.file = open_memstream(&text, &size);
		if (!line.file)
			return -ENOMEM;
		if (i < span->events_count)
			event_write(&line, tree, &span->events[i], indent);
		else if (i - span->events_count < span->frames_count)
			frame_write(&line, &span->frames[i - span->events_count], indent);
		else
			fprintf(line.file, "%*s…", 2 * indent + 4, "");
		if (fclose(line.file)) {
			free(text);
			return -ENOMEM;
		}
		terminal_rest(t, text, t->width);
		putc('\n', t->file);
		free(text);
	}
	return 0;
}

/* Finds the width of the names of a trace, up to two fifths of a line. 0 or -ENOMEM. */
static int label_columns(const struct trace_tree *tree, int width, int *label)
{
	int columns = LABEL_LEAST, most = width * 2 / 5;

	for (uint32_t i = 0; i < tree->trace->spans_count && columns < most; i++) {
		const struct span *span = tree->trace->span(tree->trace, i, true);
		int wanted = span ? terminal_columns(span->name) : 0;
		uint32_t at = i;

		if (!span)
			return -ENOMEM;
		for (int depth = 0; depth < DEPTH_SHOWN && tree->parent[at] != TRACE_TREE_NONE;
		     depth++) {
			at = tree->parent[at];
			wanted += 2;
		}
		columns = wanted > columns ? wanted : columns;
	}
	*label = columns < most ? columns : most;
	return 0;
}

/* When a span began, since the begin of the trace. */
static void offset_write(const struct terminal *t, uint64_t ns)
{
	char text[UNITS_TEXT_BYTES];

	units_format_ns((int64_t)ns, text);
	terminal_spaces(t, OFFSET_COLUMNS - 1 - (int)strlen(text));
	putc_unlocked('+', t->file);
	fputs_unlocked(text, t->file);
}

static int span_write(struct trace_text *w, const struct trace_tree *tree, uint32_t place,
		      const bool *more, int depth)
{
	const struct span *span = tree->trace->span(tree->trace, place, false);
	int bar = (w->t.width - OFFSET_COLUMNS) / (w->t.width < NARROW ? 5 : 4), label = w->label;
	char text[UNITS_TEXT_BYTES];

	if (!span)
		return -ENOMEM;
	label_write(&w->t, span->name, more, depth, label);
	terminal_spaces(&w->t, 1);
	place_write(&w->t, tree, span, bar);
	offset_write(&w->t, span->begin_ns - tree->begin_ns);
	units_format_ns((int64_t)(span->end_ns - span->begin_ns), text);
	terminal_spaces(&w->t, 10 - (int)strlen(text));
	fputs_unlocked(text, w->t.file);
	terminal_spaces(&w->t, 2);
	span_details_write(&w->t, span, w->t.width - label - bar - 13 - OFFSET_COLUMNS);
	putc('\n', w->t.file);
	bar_mark(&span->time, w->used);
	return below_write(&w->t, tree, span, depth > DEPTH_SHOWN ? DEPTH_SHOWN : depth);
}

/* Writes a span and all below it, without recursion: the data determines the depth. */
static int tree_write(struct trace_text *w, struct trace_tree *tree, uint32_t root)
{
	bool more[DEPTH_SHOWN + 1] = {false};
	uint32_t at = root;
	int depth = 0;

	for (;;) {
		if (!tree->shown[at]) {
			tree->shown[at] = true;
			if (depth > 0 && depth <= DEPTH_SHOWN)
				more[depth] = tree->next_sibling[at] != TRACE_TREE_NONE;
			if (span_write(w, tree, at, more, depth))
				return -ENOMEM;
			if (tree->first_child[at] != TRACE_TREE_NONE) {
				at = tree->first_child[at];
				depth++;
				continue;
			}
		}
		while (at != root && tree->next_sibling[at] == TRACE_TREE_NONE) {
			at = tree->parent[at];
			depth--;
		}
		if (at == root)
			return 0;
		at = tree->next_sibling[at];
	}
}

#define COMMAND_COLUMNS 60

/*
 * "sh → dd if=/dev/zero": a process, and the command that it ran at the end, if that is another
 * program.
 */
static void process_text(const struct span *span, char *text, size_t size)
{
	const struct attribute *line = span_attribute_find(span, "process.command_line");
	const char *process = span->process ? span->process : "?";
	char command[256];

	if (!line) {
		snprintf(text, size, "%s", process);
		return;
	}
	command_shorten(line->string, COMMAND_COLUMNS, command, sizeof(command));
	if (command_is_of(line->string, process))
		snprintf(text, size, "%s", command);
	else
		snprintf(text, size, "%s → %s", process, command);
}

/* Writes the owner of a span, if it is known: its service or process. */
static int owner_text(const struct trace *trace, uint32_t place, char of[512], bool *service)
{
	const struct span *span = trace->span(trace, place, trace->trace_id[0]);
	char name[400];

	if (!span)
		return -ENOMEM;
	*service = span->service;
	if (!span->service && (!span->process || *of))
		return 0;
	if (span->service)
		snprintf(name, sizeof(name), "%s", span->service);
	else
		process_text(span, name, sizeof(name));
	snprintf(of, 512, ", %s (pid %u)", name, span->pid);
	return 0;
}

/*
 * Finds the owner for the head of a trace: its first service or process. Spans of the kernel are
 * asked only if there is no other one. 0 or -ENOMEM.
 */
static int owner_find(const struct trace_tree *tree, char of[512])
{
	const struct trace *trace = tree->trace;
	bool service = false;
	int err = 0;

	for (int kernel = 0; kernel < 2 && !*of; kernel++) {
		for (size_t i = 0; i < trace->spans_count && !service && !err; i++)
			if (trace->position(trace, tree->order[i]).kernel == kernel)
				err = owner_text(trace, tree->order[i], of, &service);
		if (err)
			return err;
	}
	return 0;
}

/* ", at 2026-11-26 11:31:17.123456 UTC": date and zone only once. */
static void time_of_day(struct trace_text *w, const struct trace_tree *tree, char *text,
			size_t size)
{
	const struct trace *trace = tree->trace;
	uint64_t unix_ns = clocks_unix_ns(trace->clocks, trace->clocks_count, tree->begin_ns);
	struct wall_text at;

	text[0] = '\0';
	if (!unix_ns)
		return;
	at = wall_time_write(unix_ns);
	if (strcmp(w->date, at.date) == 0)
		snprintf(text, size, ", at %s", at.time);
	else
		snprintf(text, size, ", at %s %s %s", at.date, at.time, at.zone);
	snprintf(w->date, sizeof(w->date), "%s", at.date);
}

static int trace_head_write(struct trace_text *w, const struct trace_tree *tree)
{
	const struct trace *trace = tree->trace;
	char text[UNITS_TEXT_BYTES], of[512] = "", at[96];
	int err = owner_find(tree, of);

	if (err)
		return err;
	if (w->traces++ > 0)
		putc('\n', w->t.file);
	if (trace->host)
		snprintf(of + strlen(of), sizeof(of) - strlen(of), " on %s", trace->host);
	time_of_day(w, tree, at, sizeof(at));
	terminal_sentence(&w->t, trace->trace_id[0] ? "trace " : "no ", "%s, %zu span%s, %s%s%s",
			  trace->trace_id[0] ? trace->trace_id : "trace", trace->spans_count,
			  trace->spans_count == 1 ? "" : "s",
			  units_format_ns((int64_t)(tree->end_ns - tree->begin_ns), text), of, at);
	if (trace->left_out)
		terminal_sentence(&w->t, "left out: ", "%zu shorter span%s of %s in all",
				  trace->left_out, trace->left_out == 1 ? "" : "s",
				  units_format_ns((int64_t)trace->left_out_ns, text));
	return 0;
}

static int spans_write(struct trace_text *w, struct trace_tree *tree)
{
	size_t count = tree->trace->spans_count;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		if (tree->parent[tree->order[i]] == TRACE_TREE_NONE)
			err = tree_write(w, tree, tree->order[i]);
	/* the remaining spans are parents of each other in a circle */
	for (size_t i = 0; i < count && !err; i++) {
		uint32_t span = tree->order[i];
		bool more[2] = {false};

		if (tree->shown[span])
			continue;
		tree->shown[span] = true;
		err = span_write(w, tree, span, more, 0);
	}
	return err;
}

void trace_text_begin(struct trace_text *w, const struct terminal *t,
		      const struct source_view *source)
{
	*w = (struct trace_text){.t = *t, .source = source};
}

int trace_text_write(struct trace_text *w, const struct trace *trace)
{
	struct trace_tree tree;
	int err;

	if (trace->spans_count == 0)
		return 0;
	err = trace_tree_build(&tree, trace);
	if (err)
		return err;
	err = trace_head_write(w, &tree);
	err = err ? err : label_columns(&tree, w->t.width, &w->label);
	err = err ? err : spans_write(w, &tree);
	trace_tree_free(&tree);
	return err;
}

void trace_text_end(struct trace_text *w)
{
	if (w->traces == 0)
		fputs("no traces\n", w->t.file);
	bar_legend(&w->t, w->used);
	source_write_text(&w->t, w->source);
}
