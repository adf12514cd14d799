/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile records, as fuzz-map has them, through all that `fathom report` and `fathom trace` show
 * of them: each grouping, and all trees, as text and as JSON. One byte before them chooses the
 * width.
 */
#include "cli/report_rows.h"
#include "cli/trace_build.h"
#include "records.h"

/* What is shown goes nowhere; it is as long as somebody wants it. */
static FILE *nowhere(void)
{
	static FILE *file;

	if (!file)
		file = fopen("/dev/null", "w");
	if (!file)
		abort();
	return file;
}

static void show_report(const struct partial *p, const struct source_view *source,
			const struct terminal *t)
{
	for (const struct report_grouping *by = report_groupings; by->name; by++) {
		struct report_rows rows;
		struct report_view view = {.by = by->name,
					   .sort = by->sort,
					   .from_ns = p->from_ns,
					   .to_ns = p->to_ns,
					   .source = *source};

		if (report_rows_build(&rows, p, by, NULL))
			abort();
		view.rows = rows.rows.data;
		view.rows_count = rows.rows.count;
		report_write_json(t->file, &view);
		report_write_text(t, &view);
		report_rows_free(&rows);
	}
}

static void show_trace(const struct partial *p, const struct source_view *source,
		       const struct terminal *t, const struct trace_format *format)
{
	const struct tree_options shape = {.boot = 1, .threads = true};
	const struct trace_choice choice = {.host = "host"};
	struct trace_writer writer = {0};
	size_t written = 0;
	struct tree tree;

	if (tree_build(p, &shape, &tree))
		abort();
	format->begin(&writer, t, source);
	if (trace_build(p, &tree, &choice, &(struct trace_output){format, &writer}, &written))
		abort();
	format->end(&writer);
	tree_free(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options all = {.spans = true};
	struct input in = {data + 1, data + size, 1000};
	struct gap_view gap = {1000, 2000};
	struct source_view source = {.gaps = &gap, .gaps_count = 1};
	struct terminal t = {.file = nowhere(), .width = 100, .cut = true, .color = true};
	struct partial *p;

	if (size < 1)
		return 0;
	p = map_some(&in, &all, RECORDS - (data[0] & 1));
	if (partial_finish(p))
		abort();
	gap.to_ns = p->to_ns;
	source.filters = partial_filters(p, 0, UINT64_MAX);
	source.steal_ns = p->steal_ns;
	source.cpu_ns = (p->to_ns - p->from_ns) * (p->cpus ? p->cpus : 1);
	show_report(p, &source, &t);
	t.width = 20 + data[0] % 200; /* any width of a terminal, or a file */
	t.cut = data[0] & 1;
	show_trace(p, &source, &t, &trace_format_text);
	show_trace(p, &source, &t, &trace_format_json);
	partial_free(p);
	return 0;
}
