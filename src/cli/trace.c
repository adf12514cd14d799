/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "answer/json.h"
#include "answer/load.h"
#include "answer/traces.h"
#include "cli/command.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/read_options.h"
#include "cli/trace_text.h"

/* Without a chosen trace, what threads did outside of spans is shown, too. */
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

static int trees_write(const struct trace_options *o, const struct trace_choice *choice,
		       const struct source *source, const struct tree *tree, size_t *written)
{
	struct terminal t = terminal_of(stdout);
	struct trace_text text;
	struct json json;
	int err;

	if (o->json) {
		json_init_file(&json, stdout);
		traces_json_begin(&json, &source->view);
		err = trace_build(source->partial, tree, choice,
				  &(struct trace_sink){json_take, &json}, written);
		traces_json_end(&json);
		return err;
	}
	trace_text_begin(&text, &t, &source->view);
	err = trace_build(source->partial, tree, choice, &(struct trace_sink){text_take, &text},
			  written);
	trace_text_end(&text);
	return err;
}

static int traces_write(const struct trace_options *o, const struct trace_choice *choice,
			const struct source *source, size_t *written)
{
	struct tree_options shape = {
		.boot = source->boot, .threads = shows_threads(o), .pid = o->pid, .tid = o->tid};
	struct tree tree;
	int err = tree_build(source->partial, &shape, &tree);

	if (err)
		return err;
	err = trees_write(o, choice, source, &tree, written);
	tree_free(&tree);
	return err;
}

static int id_parse(const char *hex, struct trace_ids *ids)
{
	int err = vec_reserve(ids, 1);

	for (int i = 0; i < 16 && !err; i++)
		sscanf(hex + 2 * i, "%2hhx", &ids->data[0][i]);
	ids->count = !err;
	return err;
}

/* The traces to show. If there are none, the loaded recording is kept: it is the answer. */
struct finding {
	struct trace_ids ids;
	struct source source;
};

/* Finds the traces without loading kernel spans. */
static int ids_find(const struct source_options *from, const struct trace_choice *choice,
		    struct finding *found, struct error *e)
{
	struct source *source = &found->source;
	const struct tree_options shape = {0};
	struct tree tree;
	int err = source_load(from, source, e);

	if (!err) {
		err = tree_build(source->partial, &shape, &tree);
		if (!err) {
			err = trace_choose(source->partial, &tree, choice, &found->ids);
			tree_free(&tree);
		}
		if (err)
			error_set(e, err, "cannot find the traces");
	}
	if (found->ids.count)
		source_free(source);
	return err;
}

/*
 * Of a busy host's recording, only the kernel spans that are shown fit into memory. So the first
 * reading finds the traces, and the second one their kernel spans. For one process or thread a
 * single reading suffices; it can also be in a trace with kernel spans only.
 */
static int filter_make(const struct trace_choice *choice, struct source_options *from,
		       struct kspan_filter *only, struct finding *found, struct error *e)
{
	struct trace_ids *ids = &found->ids;
	int err;

	if (!only->traced || (!choice->trace_id && (only->pid || only->tid)))
		return 0;
	if (choice->trace_id) {
		err = id_parse(choice->trace_id, ids);
		if (err)
			error_set(e, err, "cannot find the traces");
	} else {
		err = ids_find(from, choice, found, e);
		from->notice = (struct notice){0}; /* the first reading has reported damage */
	}
	only->traces = (const u8(*)[16])ids->data;
	only->traces_count = ids->count;
	return err;
}

/* No trace was written, which is an error unless all were requested. */
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

static int trace_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct trace_options *o = fields;
	bool threads = shows_threads(o);
	struct progress_line line = progress_line_begin(stderr);
	struct source_options from = {.dirs = o->dirs,
				      .dirs_count = o->dirs_count,
				      .boot = o->boot,
				      .threads = o->threads,
				      .progress = progress_line_of(&line),
				      .notice = progress_line_notice(&line)};
	struct trace_choice choice = {.trace_id = o->trace_id,
				      .name = o->name,
				      .service = o->service,
				      .slowest = o->slowest,
				      .pid = o->pid,
				      .tid = o->tid};
	struct kspan_filter only = {.traced = !threads, .pid = o->pid, .tid = o->tid};
	struct finding found = {0};
	struct source *source = &found.source;
	size_t written = 0;
	int err;

	if (!choice.trace_id && !o->name && !o->service && !o->slowest && !threads)
		choice.slowest = 1;
	err = filter_make(&choice, &from, &only, &found, e);
	from.spans = true;
	from.only = &only;
	if (!err && !source->partial)
		err = source_load(&from, source, e);
	progress_line_end(&line);
	choice.host = source->host;
	if (!err && (err = traces_write(o, &choice, source, &written)))
		error_set(e, err, "cannot build the traces");
	if (!err && !written)
		err = nothing_written(o, e);
	if (err == -ENOMEM)
		error_say(e, ENOMEM,
			  "there is not enough memory for this answer: ask for less with --pid, "
			  "--tid, --slowest or a trace id, or name single chunks");
	source_free(source);
	vec_free(&found.ids);
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
