/* SPDX-License-Identifier: Apache-2.0 */
#include "map/chunk_map.h"

#include <errno.h>
#include <stdio.h>

/* Applies all records. */
static int records_apply(struct partial *p, struct chunk_reader *reader, struct error *e)
{
	const struct record_head *record;
	int err;

	while ((err = chunk_reader_next(reader, &record, e)) > 0) {
		err = partial_apply(p, record);
		if (err)
			return error_set(e, err, "memory ran out");
	}
	return err;
}

static int chunk_apply(struct partial *p, const char *path, struct chunk_found *found,
		       struct error *e)
{
	struct chunk_reader *reader;
	int err = chunk_reader_open(&reader, path, e);

	if (err)
		return err;
	err = records_apply(p, reader, e);
	if (found) {
		const char *damage = chunk_reader_damage(reader);

		found->lost = chunk_reader_info(reader)->lost;
		snprintf(found->damage, sizeof(found->damage), "%s", damage ? damage : "");
	}
	chunk_reader_close(reader);
	return err;
}

/* A sealed chunk whose streams were cut one by one says so. */
static bool is_uneven(const struct chunk_info *info)
{
	return info->state == CHUNK_SEALED &&
	       (info->begun_ns > info->begin_ns || info->complete_ns < info->end_ns);
}

int chunk_map(struct partial **out, const struct chunk_task *task, struct chunk_found *found,
	      struct error *e)
{
	const struct chunk_info *info = task->info;
	struct partial *p = partial_new(&task->options);
	int err = p ? 0 : -ENOMEM;

	if (!err && is_uneven(info))
		partial_streams(p, info->begun_ns, info->complete_ns);
	if (!err && task->covered_ns && task->covered_ns < info->begin_ns) {
		struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = info->begin_ns},
					 .begin_ns = task->covered_ns};

		err = partial_apply(p, &gap.head);
	}
	if (!err)
		err = chunk_apply(p, info->path, found, e);
	if (err) {
		partial_free(p);
		return error_set(e, err, "cannot map %s", info->path);
	}
	partial_cover(p, info->begin_ns, info->end_ns);
	*out = p;
	return 0;
}
