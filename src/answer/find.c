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

/* Finds the ids of the traces of a host. */
static int ids_find_of(const struct source *source, const struct trace_choice *choice,
		       struct trace_ids *ids)
{
	const struct tree_options shape = {0};
	struct tree tree;
	int err = tree_build(source->partial, &shape, &tree);

	if (err)
		return err;
	err = trace_choose(&(struct forest){.p = source->partial, .tree = &tree}, choice, ids);
	tree_free(&tree);
	return err;
}

/*
 * Finds the ids of the traces without the spans of the kernel. If there are none, the sources that
 * say so stay loaded: they are the answer.
 */
static int ids_find(const struct source_options *from, struct traces *out, struct error *e)
{
	struct sources *sources = &out->sources;
	int err = sources_load(from, sources, e);

	if (err)
		return err;
	for (size_t i = 0; i < sources->list.count && !err; i++)
		err = ids_find_of(sources->list.data[i], &out->choice, &out->ids);
	if (err)
		error_set(e, err, "cannot find the traces");
	if (out->ids.count)
		sources_free(sources);
	return err;
}

/*
 * Makes the filter for the spans of the kernel. What a process or a thread did is little enough to
 * be kept, and it can be in a trace whose other spans are of other processes: no trace is left out
 * then. Nor does anything but these spans tell which traces have certain calls.
 */
static int filter_make(struct source_options *from, struct traces *out, struct error *e)
{
	const struct trace_choice *choice = &out->choice;
	const struct filter *f = &choice->filter;
	int err;

	out->only = (struct kspan_filter){.traced = !choice->threads,
					  .pid = f->pids_count == 1 ? f->pids[0] : 0,
					  .tid = f->tid};
	if (choice->threads || (!choice->trace_id && (filter_of_process(f) || filter_of_call(f))))
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

static int sources_fill(struct source_options *from, struct traces *out, struct error *e)
{
	int err = filter_make(from, out, e);

	if (err || out->sources.list.count)
		return err;
	from->spans = true;
	from->only = &out->only;
	return sources_load(from, &out->sources, e);
}

static int trees_build(struct traces *out)
{
	const struct trace_choice *choice = &out->choice;
	int err = 0;

	for (size_t i = 0; i < out->sources.list.count && !err; i++) {
		const struct source *source = out->sources.list.data[i];
		const struct tree_options shape = {.boot = source->boot,
						   .threads = choice->threads,
						   .pid = out->only.pid,
						   .tid = out->only.tid};
		struct tree tree;

		err = tree_build(source->partial, &shape, &tree);
		if (err)
			break;
		err = vec_push(&out->trees, tree);
		if (err)
			tree_free(&tree);
	}
	return err;
}

int traces_load(const struct source_options *from, const struct trace_choice *choice,
		struct traces *out, struct error *e)
{
	struct source_options options = *from;
	const struct sum_choice no_sums = {.by = SUM_BY_NOTHING};
	bool lacks_spans = false;
	int err;

	*out = (struct traces){.choice = *choice};
	options.sums = no_sums;
	err = sources_fill(&options, out, e);
	if (err)
		return err;
	for (size_t i = 0; i < out->sources.list.count; i++)
		lacks_spans |= out->sources.list.data[i]->lacks_spans;
	if (lacks_spans)
		notice_tell(&from->notice,
			    "the partial file has no kernel spans, so that traces end with "
			    "application spans: map its chunks with 'fathom map --spans'");
	err = trees_build(out);
	return err ? error_set(e, err, "cannot build the traces") : 0;
}

int traces_give(const struct traces *traces, const struct trace_sink *to, size_t *given)
{
	int err = 0;

	*given = 0;
	for (size_t i = 0; i < traces->trees.count && !err; i++) {
		const struct source *source = traces->sources.list.data[i];
		const struct forest forest = {.p = source->partial,
					      .tree = &traces->trees.data[i],
					      .host = source->host,
					      .several = traces->sources.several,
					      .clocks = source->view.clocks,
					      .clocks_count = source->view.clocks_count};
		size_t of_host = 0;

		err = trace_build(&forest, &traces->choice, to, &of_host);
		*given += of_host;
	}
	return err;
}

void traces_free(struct traces *traces)
{
	for (size_t i = 0; i < traces->trees.count; i++)
		tree_free(&traces->trees.data[i]);
	vec_free(&traces->trees);
	sources_free(&traces->sources);
	vec_free(&traces->ids);
}
