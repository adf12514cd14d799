/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/find.h"

#include <errno.h>
#include <stdio.h>

/* Adds an id of 32 hex digits. 0 or -ENOMEM. */
static int id_parse(const char *hex, struct trace_ids *ids)
{
	int err = vec_reserve(ids, 1);

	for (int i = 0; i < 16 && !err; i++)
		sscanf(hex + 2 * i, "%2hhx", &ids->data[0][i]);
	ids->count = !err;
	return err;
}

/*
 * Finds the ids of the traces without the spans of the kernel. If there are none, the source that
 * says so stays loaded: it is the answer.
 */
static int ids_find(const struct source_options *from, struct traces *out, struct error *e)
{
	struct source *source = &out->source;
	const struct tree_options shape = {0};
	struct tree tree;
	int err = source_load(from, source, e);

	if (err)
		return err;
	err = tree_build(source->partial, &shape, &tree);
	if (!err) {
		const struct forest forest = {source->partial, &tree, NULL};

		err = trace_choose(&forest, &out->choice, &out->ids);
		tree_free(&tree);
	}
	if (err)
		error_set(e, err, "cannot find the traces");
	if (out->ids.count)
		source_free(source);
	return err;
}

/*
 * Makes the filter for the spans of the kernel. What a process or a thread did is little enough to
 * be kept, and it can be in a trace whose other spans are of other processes: no trace is left out
 * then.
 */
static int filter_make(struct source_options *from, struct traces *out, struct error *e)
{
	const struct trace_choice *choice = &out->choice;
	int err;

	out->only = (struct kspan_filter){
		.traced = !choice->threads, .pid = choice->pid, .tid = choice->tid};
	if (choice->threads || (!choice->trace_id && (choice->pid || choice->tid)))
		return 0;
	if (choice->trace_id) {
		err = id_parse(choice->trace_id, &out->ids);
		if (err)
			error_set(e, err, "cannot find the traces");
	} else {
		err = ids_find(from, out, e);
		from->notice = (struct notice){0}; /* the first reading has told it */
	}
	out->only.traces = (const u8(*)[16])out->ids.data;
	out->only.traces_count = out->ids.count;
	return err;
}

static int source_fill(struct source_options *from, struct traces *out, struct error *e)
{
	int err = filter_make(from, out, e);

	if (err || out->source.partial)
		return err;
	from->spans = true;
	from->only = &out->only;
	return source_load(from, &out->source, e);
}

int traces_load(const struct source_options *from, const struct trace_choice *choice,
		struct traces *out, struct error *e)
{
	struct source_options options = *from;
	struct tree_options shape = {
		.threads = choice->threads, .pid = choice->pid, .tid = choice->tid};
	int err;

	*out = (struct traces){.choice = *choice};
	err = source_fill(&options, out, e);
	if (err)
		return err;
	shape.boot = out->source.boot;
	err = tree_build(out->source.partial, &shape, &out->tree);
	return err ? error_set(e, err, "cannot build the traces") : 0;
}

int traces_give(const struct traces *traces, const struct trace_sink *to, size_t *given)
{
	const struct forest forest = {traces->source.partial, &traces->tree, traces->source.host};

	return trace_build(&forest, &traces->choice, to, given);
}

void traces_free(struct traces *traces)
{
	tree_free(&traces->tree);
	source_free(&traces->source);
	vec_free(&traces->ids);
}
