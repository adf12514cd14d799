/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waterfall: a line for each span with its place in the tree, its bar in
 * the trace's time, its duration, and what there is to say about it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/units.h"
#include "cli/bar.h"
#include "cli/trace_view.h"

#define DEPTH_SHOWN 40 /* deeper spans are indented like this */
#define PARTS_SHOWN 3
#define NONE SIZE_MAX

/* The spans of one trace as a tree; all arrays have a place for each span. */
struct tree {
	const struct trace_view *trace;
	size_t *order; /* by begin: siblings are linked in this order */
	size_t *parent;
	size_t *first_child;
	size_t *next_sibling;
	bool *shown;
	uint64_t begin_ns;
	uint64_t end_ns;
};

static int span_compare(const void *a, const void *b, void *spans)
{
	const struct span_view *one = (const struct span_view *)spans + *(const size_t *)a;
	const struct span_view *other = (const struct span_view *)spans + *(const size_t *)b;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	return strcmp(one->span_id, other->span_id);
}

static void tree_free(struct tree *tree)
{
	free(tree->order);
	free(tree->parent);
	free(tree->first_child);
	free(tree->next_sibling);
	free(tree->shown);
}

static int tree_find_parents(struct tree *tree)
{
	const struct trace_view *trace = tree->trace;
	struct bytes_map ids = {0};
	int err = 0;

	for (size_t i = 0; i < trace->spans_count && !err; i++)
		err = bytes_map_put(&ids, trace->spans[i].span_id, strlen(trace->spans[i].span_id),
				    (void *)(i + 1));
	for (size_t i = 0; i < trace->spans_count && !err; i++) {
		const char *id = trace->spans[i].parent_id;
		size_t place = (size_t)bytes_map_get(&ids, id, strlen(id));

		tree->parent[i] = *id && place && place - 1 != i ? place - 1 : NONE;
	}
	bytes_map_free(&ids);
	return err;
}

static int tree_build(struct tree *tree, const struct trace_view *trace)
{
	size_t count = trace->spans_count;
	int err;

	*tree = (struct tree){.trace = trace, .begin_ns = UINT64_MAX};
	tree->order = calloc(count + 1, sizeof(size_t));
	tree->parent = calloc(count + 1, sizeof(size_t));
	tree->first_child = calloc(count + 1, sizeof(size_t));
	tree->next_sibling = calloc(count + 1, sizeof(size_t));
	tree->shown = calloc(count + 1, sizeof(bool));
	err = tree->order && tree->parent && tree->first_child && tree->next_sibling && tree->shown
		      ? tree_find_parents(tree)
		      : -ENOMEM;
	if (err) {
		tree_free(tree);
		return err;
	}
	for (size_t i = 0; i < count; i++) {
		tree->order[i] = i;
		tree->first_child[i] = tree->next_sibling[i] = NONE;
		if (trace->spans[i].begin_ns < tree->begin_ns)
			tree->begin_ns = trace->spans[i].begin_ns;
		if (trace->spans[i].end_ns > tree->end_ns)
			tree->end_ns = trace->spans[i].end_ns;
	}
	qsort_r(tree->order, count, sizeof(size_t), span_compare, (void *)trace->spans);
	for (size_t i = count; i-- > 0;) {
		size_t span = tree->order[i], parent = tree->parent[span];

		if (parent == NONE)
			continue;
		tree->next_sibling[span] = tree->first_child[parent];
		tree->first_child[parent] = span;
	}
	return 0;
}

static void attribute_write(const struct terminal *t, const struct attribute_view *a)
{
	switch (a->type) {
	case ATTRIBUTE_VIEW_STRING:
		terminal_text(t, a->string);
		break;
	case ATTRIBUTE_VIEW_INTEGER:
		fprintf(t->file, "%" PRId64, a->integer);
		break;
	case ATTRIBUTE_VIEW_REAL:
		fprintf(t->file, "%g", a->real);
		break;
	case ATTRIBUTE_VIEW_BOOLEAN:
		fputs(a->integer ? "true" : "false", t->file);
		break;
	}
}

static void attributes_write(const struct terminal *t, const struct attribute_view *list,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fputs("  ", t->file);
		terminal_text(t, list[i].key);
		putc('=', t->file);
		attribute_write(t, &list[i]);
	}
}

static void named_write(const struct terminal *t, const char *before,
			const struct attribute_view *a)
{
	if (!a)
		return;
	fputs(before, t->file);
	attribute_write(t, a);
}

/* "peer 127.0.0.1:80  bytes 0-64": which bytes of the stream, the last one not included */
static void connection_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *peer = span_view_attribute(span, "network.peer.address");

	if (!peer)
		peer = span_view_attribute(span, "peer.fd.name");
	named_write(t, "  peer ", peer);
	named_write(t, ":", span_view_attribute(span, "network.peer.port"));
	named_write(t, "  bytes ", span_view_attribute(span, "bytes.from"));
	named_write(t, "-", span_view_attribute(span, "bytes.to"));
	named_write(t, "  messages ", span_view_attribute(span, "messages.from"));
	named_write(t, "-", span_view_attribute(span, "messages.to"));
	if (span_view_attribute(span, "bytes.unsure"))
		putc('?', t->file);
}

/* Calls that return an address. */
static bool returns_address(const struct span_view *span)
{
	static const char *const calls[] = {"brk", "mmap", "mremap", "shmat"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(span->name, calls[i]) == 0)
			return true;
	return false;
}

/* " = -2 ENOENT  </etc/passwd>": what came of a call or request, and of what file */
static void outcome_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *result = span_view_attribute(span, "result");
	const struct attribute_view *error = span_view_attribute(span, "error.type");
	const struct attribute_view *name = span_view_attribute(span, "file.path");

	if (result) {
		fputs(" = ", t->file);
		if (!error && result->integer && returns_address(span))
			fprintf(t->file, "%#" PRIx64, (uint64_t)result->integer);
		else
			attribute_write(t, result);
	}
	if (error) {
		putc(' ', t->file);
		attribute_write(t, error);
	}
	if (!name)
		name = span_view_attribute(span, "fd.name");
	if (name) {
		fputs("  <", t->file);
		attribute_write(t, name);
		putc('>', t->file);
	}
	connection_write(t, span);
}

/* "(3, 0x7f.., 4096) = 4096  </etc/passwd>" as strace has it */
static void call_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *args = span_view_attribute(span, "args");

	putc('(', t->file);
	if (args)
		attribute_write(t, args);
	putc(')', t->file);
	outcome_write(t, span);
}

static void request_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *fd = span_view_attribute(span, "fd");
	const struct attribute_view *slot = span_view_attribute(span, "io_uring.slot");

	if (fd || slot) {
		fputs(fd ? "fd " : "slot ", t->file);
		attribute_write(t, fd ? fd : slot);
	}
	outcome_write(t, span);
}

/* "disk 253:0 4.00 K at 1234567, queued 12.0 us, sync": what the name does not say. */
static void block_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *bytes = span_view_attribute(span, "disk.bytes");
	const struct attribute_view *queued = span_view_attribute(span, "disk.queued_ns");
	char text[UNITS_TEXT_BYTES];

	named_write(t, "disk ", span_view_attribute(span, "system.device"));
	if (bytes && bytes->integer)
		fprintf(t->file, " %s", units_format_bytes((uint64_t)bytes->integer, text));
	named_write(t, " at ", span_view_attribute(span, "disk.sector"));
	if (queued && queued->integer)
		fprintf(t->file, ", queued %s", units_format_ns(queued->integer, text));
	named_write(t, ", ", span_view_attribute(span, "disk.flags"));
	if (span_view_attribute(span, "error.type"))
		fputs(", failed", t->file);
}

/* A thread as top and gdb have it: its name, and its number in brackets. */
static void waker_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *waker = span_view_attribute(span, "waker");
	const struct attribute_view *tid = span_view_attribute(span, "waker.tid");
	const char *slash = waker && tid ? strrchr(waker->string, '/') : NULL;
	char name[64];

	if (!waker)
		return;
	fputs("woken by ", t->file);
	if (slash)
		snprintf(name, sizeof(name), "%.*s[%" PRId64 "]", (int)(slash - waker->string),
			 waker->string, tid->integer);
	terminal_text(t, slash ? name : waker->string);
}

static void details_write(const struct terminal *t, const struct span_view *span)
{
	if (strcmp(span->kind, "syscall") == 0) {
		call_write(t, span);
	} else if (strcmp(span->kind, "io_uring") == 0) {
		request_write(t, span);
	} else if (strcmp(span->kind, "block") == 0) {
		block_write(t, span);
	} else if (strcmp(span->kind, "wait") != 0) {
		bar_percents(t, &span->time, PARTS_SHOWN);
		attributes_write(t, span->attributes, span->attributes_count);
	}
	if (strcmp(span->kind, "wait") == 0)
		waker_write(t, span);
	if (span->begin_soft)
		fputs("  began earlier", t->file);
	if (span->end_soft)
		fputs("  was not seen to end", t->file);
}

/* The details in what is left of the line. */
static void details_fit(const struct terminal *t, const struct span_view *span, int room)
{
	char *text = NULL;
	size_t size = 0;
	struct terminal memory = {.file = open_memstream(&text, &size)};

	if (!memory.file)
		return;
	details_write(&memory, span);
	fclose(memory.file);
	terminal_rest(t, text, room);
	free(text);
}

/* The span's bar at its place in the trace's time; at least one cell wide. */
static void place_write(const struct terminal *t, const struct tree *tree,
			const struct span_view *span, int cells)
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
	fprintf(t->file, "%*s", from, "");
	if (split_total(&span->time) > 0)
		bar_write(t, &span->time, width);
	else
		fprintf(t->file, "%.*s%*s", 1, "|", width - 1, "");
	fprintf(t->file, "%*s", cells - from - width, "");
}

/* Tree lines before the name: `more` says at each depth if siblings follow. */
static void label_write(const struct terminal *t, const char *name, const bool *more, int depth,
			int width)
{
	int columns = 0;

	if (depth > DEPTH_SHOWN)
		depth = DEPTH_SHOWN;
	for (int i = 1; i <= depth && columns + 12 < width; i++) {
		bool last = i == depth;

		fputs(last ? (more[i] ? "├─" : "└─") : (more[i] ? "│ " : "  "), t->file);
		columns += 2;
	}
	terminal_cell(t, name, width - columns);
}

static void events_write(const struct terminal *t, const struct tree *tree,
			 const struct span_view *span, int indent)
{
	char text[UNITS_TEXT_BYTES];

	for (size_t i = 0; i < span->events_count; i++) {
		const struct event_view *event = &span->events[i];

		fprintf(t->file, "%*s* +%s ", 2 * indent + 2, "",
			units_format_ns((int64_t)(event->time_ns - tree->begin_ns), text));
		if (event->level != EVENT_VIEW_NO_LEVEL)
			fprintf(t->file, "%s ", level_view_name(event->level));
		terminal_text(t, event->name);
		attributes_write(t, event->attributes, event->attributes_count);
		putc('\n', t->file);
	}
}

/* "function+0x1f (file)": a line for each call, under its wait. */
static void frames_write(const struct terminal *t, const struct span_view *span, int indent)
{
	for (size_t i = 0; i < span->frames_count; i++) {
		const struct frame_view *frame = &span->frames[i];

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
		putc('\n', t->file);
	}
}

static void span_write(struct trace_writer *w, const struct tree *tree, size_t place,
		       const bool *more, int depth)
{
	const struct span_view *span = &tree->trace->spans[place];
	int bar = w->t.width / 4, label = w->t.width * 2 / 5;
	char text[UNITS_TEXT_BYTES];

	label_write(&w->t, span->name, more, depth, label);
	putc(' ', w->t.file);
	place_write(&w->t, tree, span, bar);
	fprintf(w->t.file, " %9s  ",
		units_format_ns((int64_t)(span->end_ns - span->begin_ns), text));
	details_fit(&w->t, span, w->t.width - label - bar - 13);
	putc('\n', w->t.file);
	events_write(&w->t, tree, span, depth > DEPTH_SHOWN ? DEPTH_SHOWN : depth);
	frames_write(&w->t, span, depth > DEPTH_SHOWN ? DEPTH_SHOWN : depth);
	bar_mark(&span->time, w->used);
}

/* Shows a span and all below it, without recursion: depth is the data's. */
static void tree_write(struct trace_writer *w, struct tree *tree, size_t root)
{
	bool more[DEPTH_SHOWN + 1] = {false};
	size_t at = root;
	int depth = 0;

	for (;;) {
		if (!tree->shown[at]) {
			tree->shown[at] = true;
			if (depth > 0 && depth <= DEPTH_SHOWN)
				more[depth] = tree->next_sibling[at] != NONE;
			span_write(w, tree, at, more, depth);
			if (tree->first_child[at] != NONE) {
				at = tree->first_child[at];
				depth++;
				continue;
			}
		}
		while (at != root && tree->next_sibling[at] == NONE) {
			at = tree->parent[at];
			depth--;
		}
		if (at == root)
			return;
		at = tree->next_sibling[at];
	}
}

/* Who a trace is said to be of: its first service, else its first process. */
static const struct span_view *first_of_somebody(const struct tree *tree)
{
	const struct span_view *first = NULL;

	for (size_t i = 0; i < tree->trace->spans_count; i++) {
		const struct span_view *span = &tree->trace->spans[tree->order[i]];

		if (span->service)
			return span;
		if (!first && span->process)
			first = span;
	}
	return first;
}

static void trace_head_write(struct trace_writer *w, const struct tree *tree)
{
	const struct trace_view *trace = tree->trace;
	const struct span_view *first = first_of_somebody(tree);
	char text[UNITS_TEXT_BYTES];

	if (w->traces++ > 0)
		putc('\n', w->t.file);
	if (trace->trace_id[0])
		fprintf(w->t.file, "trace %s", trace->trace_id);
	else
		fputs("no trace", w->t.file);
	fprintf(w->t.file, ", %zu span%s, %s", trace->spans_count,
		trace->spans_count == 1 ? "" : "s",
		units_format_ns((int64_t)(tree->end_ns - tree->begin_ns), text));
	if (first) {
		fputs(", ", w->t.file);
		terminal_text(&w->t, first->service ? first->service : first->process);
		fprintf(w->t.file, " (pid %u)", first->pid);
	}
	putc('\n', w->t.file);
}

static void trace_text_begin(void *writer, const struct terminal *t,
			     const struct source_view *source)
{
	struct trace_writer *w = writer;

	w->t = *t;
	w->source = source;
}

static int trace_text_trace(void *writer, const struct trace_view *trace)
{
	struct trace_writer *w = writer;
	struct tree tree;
	int err;

	if (trace->spans_count == 0)
		return 0;
	err = tree_build(&tree, trace);
	if (err)
		return err;
	trace_head_write(w, &tree);
	for (size_t i = 0; i < trace->spans_count; i++) {
		if (tree.parent[tree.order[i]] == NONE)
			tree_write(w, &tree, tree.order[i]);
	}
	/* what is left are parents of each other in a circle */
	for (size_t i = 0; i < trace->spans_count; i++) {
		size_t span = tree.order[i];

		if (!tree.shown[span]) {
			bool more[2] = {false};

			tree.shown[span] = true;
			span_write(w, &tree, span, more, 0);
		}
	}
	tree_free(&tree);
	return 0;
}

static void trace_text_end(void *writer)
{
	struct trace_writer *w = writer;

	if (w->traces == 0)
		fputs("no traces\n", w->t.file);
	bar_legend(&w->t, w->used);
	source_write_text(&w->t, w->source);
}

const struct trace_format trace_format_text = {
	.name = "text",
	.begin = trace_text_begin,
	.trace = trace_text_trace,
	.end = trace_text_end,
};
