/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "answer/find.h"
#include "answer/json.h"
#include "cli/answer_text.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/read_options.h"
#include "cli/trace_text.h"

/* True if no trace is chosen: what threads did outside of spans is shown, too. */
static bool shows_threads(const struct trace_options *o)
{
	const struct filter filter = filter_of(&o->filter);

	return o->all || ((filter_of_process(&filter) || filter_of_call(&filter)) && !o->trace_id &&
			  !o->slowest && !filter.name && !filter.service);
}

static int text_take(void *arg, const struct trace *trace)
{
	return trace_text_write(arg, trace);
}

static int json_take(void *arg, const struct trace *trace)
{
	return trace_write_json(arg, trace);
}

static int json_line_take(void *arg, const struct trace *trace)
{
	return trace_write_json_line(arg, trace);
}

/* Prints a trace a line. What the answer lacks is told beside it. */
static int lines_print(const struct traces *traces, size_t *written)
{
	struct terminal t = terminal_of(stderr);
	struct json json;
	int err;

	json_init_file(&json, stdout);
	err = traces_give(traces, &(struct trace_sink){json_line_take, &json}, written);
	source_write_text(&t, &traces->sources.view);
	return err;
}

static int traces_print(const struct traces *traces, const struct trace_options *o, size_t *written)
{
	const struct source_view *source = &traces->sources.view;
	struct terminal t = terminal_of(stdout);
	struct trace_text text;
	struct json json;
	int err;

	if (o->json_lines)
		return lines_print(traces, written);
	if (o->json) {
		json_init_file(&json, stdout);
		traces_json_begin(&json, source);
		err = traces_give(traces, &(struct trace_sink){json_take, &json}, written);
		traces_json_end(&json);
		return err;
	}
	trace_text_begin(&text, &t, source);
	err = traces_give(traces, &(struct trace_sink){text_take, &text}, written);
	trace_text_end(&text);
	return err;
}

/* An answer without a trace is an error, unless everything was asked for. */
static int nothing_written(const struct trace_options *o, struct error *e)
{
	const struct filter filter = filter_of(&o->filter);
	const char *of = "";

	if (o->all && filter_is_empty(&filter) && !o->from.kind && !o->to.kind)
		return 0;
	if (filter_of_process(&filter) || filter_of_call(&filter) || o->from.kind || o->to.kind ||
	    o->min_ns)
		of = " that the filters take";
	if (o->trace_id)
		return error_say(
			e, ENOENT,
			"this recording has no trace %s%s; '--slowest 10' shows the longest "
			"traces",
			o->trace_id, of);
	if (o->filter.name || o->filter.service)
		return error_say(
			e, ENOENT,
			"this recording has no trace with a matching span%s; 'fathom report "
			"--by name' lists names and services",
			of);
	if (*of)
		return error_say(
			e, ENOENT,
			"this recording has no %sspan%s; 'fathom report --by thread' lists "
			"the threads, and '--by file' the files",
			o->slowest ? "trace with a " : "", of);
	return error_say(e, ENOENT,
			 "this recording has no application spans; "
			 "--all shows what each thread did in the kernel");
}

static struct trace_choice choice_of(const struct trace_options *o)
{
	struct trace_choice choice = {.trace_id = o->trace_id,
				      .name = o->filter.name,
				      .service = o->filter.service,
				      .slowest = o->slowest,
				      .limit = o->limit,
				      .min_ns = o->min_ns,
				      .filter = filter_of(&o->filter),
				      .threads = shows_threads(o)};

	choice.filter.name = choice.filter.service = NULL;
	if (!choice.trace_id && !choice.name && !choice.service && !o->slowest && !o->limit &&
	    !choice.threads)
		choice.slowest = 1;
	return choice;
}

static int trace_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct trace_options *o = fields;
	const struct trace_choice choice = choice_of(o);
	struct progress_line line = progress_line_begin(stderr);
	const struct source_options from = {.dirs = o->dirs,
					    .dirs_count = o->dirs_count,
					    .boot = o->boot,
					    .threads = o->threads,
					    .from = o->from,
					    .to = o->to,
					    .progress = progress_line_of(&line),
					    .notice = progress_line_notice(&line)};
	struct traces traces;
	size_t written = 0;
	int err = traces_load(&from, &choice, &traces, e);

	progress_line_end(&line);
	if (!err && (err = traces_print(&traces, o, &written)))
		error_set(e, err, "cannot build the traces");
	if (!err && !written)
		err = nothing_written(o, e);
	if (err == -ENOMEM)
		error_say(e, ENOMEM,
			  "there is not enough memory for this answer: ask for less with --pid, "
			  "--tid, --slowest or a trace id, or name single chunks");
	traces_free(&traces);
	return err;
}

const struct command command_trace = {
	.name = "trace",
	.summary = "show single traces down to the kernel, as a waterfall",
	.usage = trace_usage,
	.description =
		"Shows traces with everything that their spans did in the kernel: system calls "
		"with\n"
		"arguments and results, waits with their cause and waker, and page faults. The\n"
		"default is the longest trace.",
	.examples = "  fathom trace\n"
		    "  fathom trace --slowest 3 --name 'GET *'\n"
		    "  fathom trace --all --tid 4711\n"
		    "  fathom trace 4bf92f3577b34da6a3ce929d0e0e4736 --json\n",
	.options = trace_option_table,
	.options_bytes = sizeof(struct trace_options),
	.takes_recordings = true,
	.check = trace_options_check,
	.run = trace_run,
	.release = trace_options_release,
};
