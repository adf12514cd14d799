/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request_dot.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"

#define UNSURE_PERCENT 5 /* an edge of the service map with so many unsure calls is dashed */

/* A text within quotes. Names are of programs that may try to harm whoever reads them. */
static void text_write(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', file);
		putc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, file);
	}
}

static int span_write(FILE *file, const struct trace *trace, size_t at, uint64_t begin_ns)
{
	const struct span_position place = trace->position(trace, at);
	const struct span *span = trace->span(trace, at, false);
	char offset[UNITS_TEXT_BYTES], length[UNITS_TEXT_BYTES];

	if (!span)
		return -ENOMEM;
	fprintf(file, "  s%016" PRIx64 " [label=\"", place.id);
	text_write(file, span->name);
	fprintf(file, "\\n+%s, %s\"];\n",
		units_format_ns((int64_t)(place.begin_ns - begin_ns), offset),
		units_format_ns((int64_t)(place.end_ns - place.begin_ns), length));
	if (!place.parent)
		return 0;
	fprintf(file, "  s%016" PRIx64 " -> s%016" PRIx64, place.parent, place.id);
	if (strncmp(span->name, "? ", 2) == 0)
		fputs(" [style=dashed]", file);
	fputs(";\n", file);
	return 0;
}

int request_dot_trace(FILE *file, const struct trace *trace)
{
	uint64_t begin_ns = UINT64_MAX;
	int err = 0;

	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span_position place = trace->position(trace, i);

		begin_ns = place.begin_ns < begin_ns ? place.begin_ns : begin_ns;
	}
	fprintf(file, "digraph \"%s\" {\n  node [shape=box];\n", trace->trace_id);
	for (size_t i = 0; i < trace->spans_count && !err; i++)
		err = span_write(file, trace, i, begin_ns);
	fputs("}\n", file);
	return err;
}

void request_dot_edges(FILE *file, const struct row *rows, size_t count)
{
	fputs("digraph services {\n  node [shape=box];\n", file);
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		char p50[UNITS_TEXT_BYTES], p99[UNITS_TEXT_BYTES];

		fputs("  \"", file);
		text_write(file, row->caller);
		fputs("\" -> \"", file);
		text_write(file, row->service);
		fputs("\" [label=\"", file);
		text_write(file, row->callee);
		fprintf(file, "\\n%" PRIu64 " x, p50 %s, p99 %s\"", row->count,
			units_format_ns((int64_t)row->p50_ns, p50),
			units_format_ns((int64_t)row->p99_ns, p99));
		if (row->unsure * 100 > row->count * UNSURE_PERCENT)
			fputs(", style=dashed", file);
		fputs("];\n", file);
	}
	fputs("}\n", file);
}
