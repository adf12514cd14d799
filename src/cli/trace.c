/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "answer/find.h"
#include "answer/json.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/read_options.h"
#include "cli/trace_text.h"

/* True if no trace is chosen: what threads did outside of spans is shown, too. */
static bool shows_threads(const struct trace_options *o)
{
	return o->all ||
	       ((o->pid || o->tid) && !o->trace_id && !o->slowest && !o->name && !o->service);
}

static int text_take(void *arg, const struct trace *trace)
{
	return trace_text_write(arg, trace);
}

static int json_take(void *arg, const struct trace *trace)
{
	return trace_write_json(arg, trace);
}

static int traces_print(const struct traces *traces, bool as_json, size_t *written)
{
	const struct source_view *source = &traces->sources.view;
	struct terminal t = terminal_of(stdout);
	struct trace_text text;
	struct json json;
	int err;

	if (as_json) {
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
	char of[64] = "";

	if (o->all && !o->pid && !o->tid)
		return 0;
	if (o->tid)
		snprintf(of, sizeof(of), " of thread %u", o->tid);
	else if (o->pid)
		snprintf(of, sizeof(of), " of process %u", o->pid);
	if (o->trace_id)
		return error_say(
			e, ENOENT,
			"this recording has no trace %s%s; '--slowest 10' shows the longest "
			"traces",
			o->trace_id, of);
	if (o->name || o->service)
		return error_say(
			e, ENOENT,
			"this recording has no trace with a matching span%s; 'fathom report "
			"--by name' lists names and services",
			of);
	if (*of)
		return error_say(
			e, ENOENT,
			"this recording has no %sspan%s; 'fathom report --by thread' lists "
			"the threads",
			o->slowest ? "trace with a " : "", of);
	return error_say(e, ENOENT,
			 "this recording has no application spans; "
			 "--all shows what each thread did in the kernel");
}

static struct trace_choice choice_of(const struct trace_options *o)
{
	struct trace_choice choice = {.trace_id = o->trace_id,
				      .name = o->name,
				      .service = o->service,
				      .slowest = o->slowest,
				      .pid = o->pid,
				      .tid = o->tid,
				      .threads = shows_threads(o)};

	if (!choice.trace_id && !o->name && !o->service && !o->slowest && !choice.threads)
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
					    .progress = progress_line_of(&line),
					    .notice = progress_line_notice(&line)};
	struct traces traces;
	size_t written = 0;
	int err = traces_load(&from, &choice, &traces, e);

	progress_line_end(&line);
	if (!err && (err = traces_print(&traces, o->json, &written)))
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
	.check = trace_options_check,
	.run = trace_run,
	.release = trace_options_release,
};
