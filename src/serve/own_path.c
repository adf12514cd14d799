/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a trace, as a member of its answer: /api/v1/traces/ID. */
#include <errno.h>

#include "serve/own.h"
#include "serve/stored_path.h"

static void wait_write(struct json *j, const struct gathered *g, const struct path_step *step)
{
	const struct received_span *wait = &g->batch.data[step->wait];
	const struct attribute *waker = gather_attribute(wait, "waker");
	char place[GATHER_PLACE_BYTES], id[SPAN_ID_BYTES];

	gather_place(wait, step->call == GATHER_NONE ? NULL : &g->batch.data[step->call], place);
	json_string(j, "place", place);
	if (waker && waker->type == VALUE_STRING)
		json_string(j, "waker", waker->string);
	span_id_text(id, wait->span_id);
	json_string(j, "wait_id", id);
}

static void step_write(struct json *j, const struct gathered *g, const struct path_step *step)
{
	static const char *const states[] = {[PATH_RUNNING] = "running",
					     [PATH_RUNNABLE] = "runnable",
					     [PATH_WAITING] = "waiting",
					     [PATH_SPLIT] = "split",
					     [PATH_UNKNOWN] = "unknown"};
	char id[SPAN_ID_BYTES];

	span_id_text(id, g->batch.data[step->at].span_id);
	json_object_begin(j, NULL);
	json_string(j, "span_id", id);
	json_u64(j, "begin_unix_ns", step->begin_ns);
	json_u64(j, "end_unix_ns", step->end_ns);
	json_string(j, "state", states[step->state]);
	if (step->part >= 0)
		json_string(j, "part", split_part_name((unsigned int)step->part));
	if (step->wait != GATHER_NONE)
		wait_write(j, g, step);
	json_object_end(j);
}

static void path_write(struct json *j, const struct gathered *g, const struct stored_path *path)
{
	char id[SPAN_ID_BYTES];

	span_id_text(id, g->batch.data[g->subjects.data[0]].span_id);
	json_object_begin(j, "critical");
	json_string(j, "span_id", id);
	json_string(j, "known_by", stored_path_known_by(path));
	if (path->is_cut)
		json_bool(j, "cut", true);
	json_array_begin_lines(j, "steps");
	for (size_t i = 0; i < path->list.count; i++)
		step_write(j, g, &path->list.data[i]);
	json_array_end(j);
	json_object_end(j);
}

int own_path_write(struct json *j, const struct gathered *g)
{
	struct stored_path path = {0};
	int err = g->subjects.count ? stored_path_find(g, g->subjects.data[0], &path) : 0;

	if (!err && g->subjects.count)
		path_write(j, g, &path);
	stored_path_free(&path);
	return err;
}
