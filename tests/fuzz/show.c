/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes every report, trace and request of hostile records (see records.h), as text and as JSON.
 * The first byte of the input chooses the width of the terminal.
 */
#include "answer/json.h"
#include "answer/request_rows.h"
#include "answer/requests.h"
#include "answer/traces.h"
#include "cli/json_file.h"
#include "cli/report_text.h"
#include "cli/trace_text.h"
#include "records.h"

/* All output goes to /dev/null. */
static FILE *nowhere(void)
{
	static FILE *file;

	if (!file)
		file = fopen("/dev/null", "w");
	if (!file)
		abort();
	return file;
}

/* Merges rows with those of another host, and with themselves. */
static void merge_rows(const struct partial *p, const struct grouping *by, struct rows *rows)
{
	struct rows same = {0}, other = {0};

	if (rows_fill(&same, p, by, NULL) || rows_fill(&other, p, by, "other"))
		abort();
	if (rows_merge(rows, &same) || rows_merge(rows, &other) || rows_finish(rows, by->sort))
		abort();
	if (rows->groups.count != same.groups.count + other.groups.count)
		abort();
	rows_free(&same);
	rows_free(&other);
}

static void show_report(const struct partial *p, const struct source_view *source,
			const struct terminal *t)
{
	static const char *const pairs[] = {"process,file", "command,syscall", "service,peer",
					    "syscall,file", "syscall,errno",   "file,cause",
					    "peer,cause",   "host,cause",      "program,waker"};
	const size_t pairs_count = sizeof(pairs) / sizeof(pairs[0]);

	for (size_t i = 0; i < pairs_count || key_table[i - pairs_count].name; i++) {
		const char *text = i < pairs_count ? pairs[i] : key_table[i - pairs_count].name;
		struct grouping made, *by = &made;
		struct error e = {0};
		struct rows rows;
		struct json json;
		struct report view = {.from_ns = p->from_ns, .to_ns = p->to_ns, .source = *source};

		if (grouping_make(by, text, NULL, &e) || rows_build(&rows, p, by, NULL))
			abort();
		view.by = by->name;
		view.keys[0] = by->keys[0];
		view.keys[1] = by->keys[1];
		view.sort = by->sort;
		view.rows = rows.rows.data;
		view.rows_count = rows.rows.count;
		json_init_file(&json, t->file);
		report_write_json(&json, &view);
		report_write_text(t, &view);
		merge_rows(p, by, &rows);
		rows_free(&rows);
	}
}

static int text_take(void *arg, const struct trace *trace)
{
	return trace_text_write(arg, trace);
}

static int json_take(void *arg, const struct trace *trace)
{
	return trace_write_json(arg, trace);
}

static void show_traces(const struct partial *p, const struct source_view *source,
			const struct terminal *t)
{
	const struct tree_options shape = {.boot = 1, .threads = true};
	const struct trace_choice choice = {.threads = true};
	struct tree tree;
	const struct forest forest = {.p = p, .tree = &tree, .host = "host"};
	struct trace_text text;
	struct json json;
	size_t given = 0;

	if (tree_build(p, &shape, &tree))
		abort();
	trace_text_begin(&text, t, source);
	if (trace_build(&forest, &choice, &(struct trace_sink){text_take, &text}, &given))
		abort();
	trace_text_end(&text);
	json_init_file(&json, t->file);
	traces_json_begin(&json, source);
	if (trace_build(&forest, &choice, &(struct trace_sink){json_take, &json}, &given))
		abort();
	traces_json_end(&json);
	tree_free(&tree);
}

static void show_requests(const struct partial *p, const struct source_view *source,
			  const struct terminal *t)
{
	struct request_host host = {.p = p, .name = "host", .boot = 1};
	struct request_answer answer = {0};
	struct request_choice choice = {.all = true};
	struct request_counts counts;
	struct trace_text text;
	struct json json;

	if (requests_make(&answer.requests, &host, 1, 0))
		abort();
	json_init_file(&json, t->file);
	requests_json_begin(&json, source, NULL, 0);
	if (request_answer_give(&answer, &choice, &(struct trace_sink){json_take, &json}, &counts))
		abort();
	traces_json_end(&json);
	choice.brief = true;
	trace_text_begin(&text, t, source);
	if (request_answer_give(&answer, &choice, &(struct trace_sink){text_take, &text}, &counts))
		abort();
	trace_text_end(&text);
	for (int by = REQUEST_ROWS_OPERATION; by <= REQUEST_ROWS_SERVICE; by++) {
		struct rows rows = {0};

		if (request_rows_fill(&rows, &answer.requests, (enum request_rows_by)by) ||
		    rows_finish(&rows, "total"))
			abort();
		rows_free(&rows);
	}
	request_answer_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options all = {.spans = true};
	struct input in = {data + 1, data + size, 1000};
	struct gap_view gap = {.from_ns = 1000, .to_ns = 2000};
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
	show_traces(p, &source, &t);
	show_requests(p, &source, &t);
	partial_free(p);
	return 0;
}
