/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/checkpoints.h"
#include "answer/files.h"
#include "base/names.h"

/* ---- progress over all hosts ---- */

struct joined_progress {
	struct load_progress to;
	u64 done_bytes; /* of the hosts that are done */
	u64 bytes;	/* of the chunks of all hosts */
};

static void progress_tell(void *arg, u64 done_bytes, u64 bytes)
{
	const struct joined_progress *joined = arg;
	u64 sum = joined->done_bytes + done_bytes;

	joined->to.tell(joined->to.arg, sum < joined->bytes ? sum : joined->bytes, joined->bytes);
}

static u64 chunk_bytes(const struct recording *recording)
{
	const struct recording_info *info = recording_info(recording);
	u64 bytes = 0;

	for (size_t i = 0; i < info->chunk_count; i++)
		bytes += info->chunks[i].bytes;
	return bytes;
}

/* ---- loading ---- */

static bool is_of_any_clock(const struct time_point *point)
{
	return point->kind == TIME_POINT_NONE || point->kind == TIME_POINT_UNIX ||
	       point->kind == TIME_POINT_OF_DAY;
}

static int limits_check(const struct source_options *o, const struct recording_set *set,
			struct error *e)
{
	if (is_of_any_clock(&o->from) && is_of_any_clock(&o->to))
		return 0;
	return error_misuse(
		e,
		"--from and --to must be times of day or dates for the recordings of %zu hosts "
		"(%s, %s%s), whose monotonic clocks differ: write 14:03:00, "
		"2026-11-26T14:03:00Z or @1795701780",
		set->count, recording_info(set->data[0])->host, recording_info(set->data[1])->host,
		set->count > 2 ? ", ..." : "");
}

/* Loads the recording of a host. Of several hosts, one without records in the range is left out. */
static int host_load(struct sources *out, const struct source_options *o,
		     struct recording *recording, struct checkpoints *checkpoints, struct error *e)
{
	struct source *source = calloc(1, sizeof(*source));
	int err = source ? vec_push(&out->list, source) : -ENOMEM;

	if (err) {
		free(source);
		return error_set(e, err, "cannot load the recording");
	}
	err = source_map(source, o, recording, checkpoints, e);
	if (err != -ERANGE || !out->several)
		return err;
	out->list.count--;
	source_free(source);
	free(source);
	error_clear(e);
	return 0;
}

static int hosts_load(struct sources *out, const struct source_options *o,
		      struct recording_set *set, struct error *e)
{
	struct checkpoints checkpoints = {
		.dirs = o->dirs, .count = o->dirs_count, .notice = o->notice};
	struct joined_progress joined = {.to = o->progress};
	struct source_options of_host = *o;
	int err = out->several ? limits_check(o, set, e) : 0;

	for (size_t i = 0; i < set->count; i++)
		joined.bytes += chunk_bytes(set->data[i]);
	if (o->progress.tell && out->several)
		of_host.progress = (struct load_progress){progress_tell, &joined};
	if (!err && (err = checkpoints_open(&checkpoints, o->checkpoint)))
		error_set(e, err, "cannot load the recording");
	for (size_t i = 0; i < set->count && !err; i++) {
		u64 bytes = chunk_bytes(set->data[i]);

		err = host_load(out, &of_host, set->data[i], &checkpoints, e);
		joined.done_bytes += bytes;
	}
	checkpoints_close(&checkpoints);
	if (!err && !out->list.count)
		err = error_say(e, ERANGE,
				"the range is outside of the recordings of all %zu hosts",
				set->count);
	return err;
}

/* ---- joining ---- */

static int source_join(struct sources *out, const struct source *source)
{
	const struct source_view *from = &source->view;
	struct source_view *to = &out->view;
	int err = 0;

	for (size_t i = 0; i < from->clocks_count && !err; i++)
		err = vec_push(&out->clocks, from->clocks[i]);
	for (size_t i = 0; i < from->gaps_count && !err; i++) {
		err = vec_push(&out->gaps, from->gaps[i]);
		if (!err)
			out->gaps.data[out->gaps.count - 1].host = source->host;
	}
	for (size_t i = 0; i < from->steps_count && !err; i++) {
		err = vec_push(&out->steps, from->steps[i]);
		if (!err)
			out->steps.data[out->steps.count - 1].host = source->host;
	}
	names_join(out->missing, sizeof(out->missing), source->missing);
	lost_add(&to->lost, &from->lost);
	to->incomplete += from->incomplete;
	to->filters |= from->filters;
	to->recorded_ns += from->recorded_ns;
	to->calls_ns += from->calls_ns;
	to->steal_ns += from->steal_ns;
	to->cpu_ns += from->cpu_ns;
	to->cost.programs_ns += from->cost.programs_ns;
	to->cost.processes_ns += from->cost.processes_ns;
	to->cost.measured |= from->cost.measured;
	return err;
}

static int sources_join(struct sources *out)
{
	int err = 0;

	if (!out->several) {
		out->view = out->list.data[0]->view;
		return 0;
	}
	for (size_t i = 0; i < out->list.count && !err; i++)
		err = source_join(out, out->list.data[i]);
	out->view.clocks = out->clocks.data;
	out->view.clocks_count = out->clocks.count;
	out->view.gaps = out->gaps.data;
	out->view.gaps_count = out->gaps.count;
	out->view.steps = out->steps.data;
	out->view.steps_count = out->steps.count;
	out->view.missing = out->missing;
	return err;
}

static int describe(struct sources *out, struct error *e)
{
	int err = sources_join(out);

	return err ? error_set(e, err, "cannot describe the recordings") : 0;
}

static int partials_load(struct sources *out, const struct source_options *o, struct error *e)
{
	struct source_list list = {0};
	int err = files_load(o, &list, &out->several, e);

	out->list.data = list.data;
	out->list.count = list.count;
	out->list.capacity = list.capacity;
	return err ? err : describe(out, e);
}

static int load_once(struct sources *out, const struct source_options *o, struct error *e)
{
	const struct recording_options reading = {
		.boot = o->boot, .after = o->after, .damage = o->notice.tell, .arg = o->notice.arg};
	struct recording_set set;
	int err = recording_set_open(
		&set, &(struct recording_query){o->dirs, o->dirs_count, &reading}, e);

	if (err)
		return err;
	out->several = set.count > 1;
	err = hosts_load(out, o, &set, e);
	recording_set_close(&set);
	return err ? err : describe(out, e);
}

int sources_load(const struct source_options *o, struct sources *out, struct error *e)
{
	struct source_options options = *o;
	int err = -ESTALE;

	if (has_partial_path(o->dirs, o->dirs_count)) {
		*out = (struct sources){0};
		return partials_load(out, o, e);
	}
	for (int again = SOURCE_READ_AGAIN; err == -ESTALE && again >= 0; again--) {
		error_clear(e);
		*out = (struct sources){0};
		options.last_try = !again;
		err = load_once(out, &options, e);
		if (err == -ESTALE)
			sources_free(out);
	}
	return err;
}

void sources_free(struct sources *sources)
{
	for (size_t i = 0; i < sources->list.count; i++) {
		source_free(sources->list.data[i]);
		free(sources->list.data[i]);
	}
	vec_free(&sources->list);
	vec_free(&sources->clocks);
	vec_free(&sources->gaps);
	vec_free(&sources->steps);
}
