/* SPDX-License-Identifier: Apache-2.0 */
#include "map/chunk_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"

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

static int chunk_apply(struct partial *p, const struct chunk_task *task, struct chunk_found *found,
		       struct error *e)
{
	struct chunk_reader *reader = task->reader;
	int err = reader ? 0 : chunk_reader_open(&reader, task->info->path, e);

	if (err)
		return err;
	err = records_apply(p, reader, e);
	if (!err && task->whole && (err = chunk_reader_failed(reader)))
		error_set(e, err, "cannot read all of it");
	if (found) {
		const char *damage = chunk_reader_damage(reader);

		found->lost = chunk_reader_info(reader)->lost;
		snprintf(found->damage, sizeof(found->damage), "%s", damage ? damage : "");
	}
	if (!task->reader)
		chunk_reader_close(reader);
	return err;
}

/* Applies the filters that the manifest names: the records that name them may be damaged. */
static int filters_of_chunk(struct partial *p, const struct chunk_info *info)
{
	struct record_filter filter = {.head = {.kind = RECORD_filter, .time_ns = info->begin_ns},
				       .flags = (u32)info->filters &
						(FILTER_SYSCALLS | FILTER_SPANS | FILTER_CALLS |
						 FILTER_DETAIL | FILTER_SCOPES | FILTER_BYTES |
						 FILTER_BYTES_TURNS)};

	return filter.flags ? partial_apply(p, &filter.head) : 0;
}

/* Whether the streams were cut one by one, or end where a crash left each. */
static bool is_uneven(const struct chunk_info *info)
{
	return info->begun_ns > info->begin_ns || info->complete_ns < info->end_ns;
}

int chunk_map(struct partial **out, const struct chunk_task *task, struct chunk_found *found,
	      struct error *e)
{
	const struct chunk_info *info = task->info;
	struct partial *p = partial_new(&task->options);
	int err = p ? 0 : -ENOMEM;

	if (!err)
		partial_late(p, info->late_ns, info->begin_ns);
	if (!err && is_uneven(info))
		partial_streams(p, info->begun_ns, info->complete_ns);
	if (!err && task->covered_ns && task->covered_ns < info->begin_ns) {
		struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = info->begin_ns},
					 .begin_ns = task->covered_ns};

		err = partial_apply(p, &gap.head);
	}
	if (!err)
		err = filters_of_chunk(p, info);
	if (!err)
		err = chunk_apply(p, task, found, e);
	if (err) {
		partial_free(p);
		return error_set(e, err, "cannot map %s", info->path);
	}
	partial_cover(p, info->begin_ns, info->end_ns);
	*out = p;
	return 0;
}

/* ---- what later chunks need ---- */

static const struct partial_options state_only = {.state_only = true};

static bool goes_on(const struct recording_checkpoint *checkpoint, const struct chunk_info *info)
{
	return checkpoint->data && strcmp(checkpoint->boot_id, info->boot_id) == 0;
}

static int state_pack(struct partial *state, const struct chunk_info *info,
		      struct recording_checkpoint *checkpoint)
{
	struct bytes bytes = {0};
	int err = checkpoint_write(state, &bytes);

	if (err) {
		bytes_free(&bytes);
		return err;
	}
	recording_checkpoint_free(checkpoint);
	memcpy(checkpoint->boot_id, info->boot_id, sizeof(checkpoint->boot_id));
	checkpoint->end_ns = info->end_ns;
	checkpoint->data = bytes.data;
	checkpoint->bytes = bytes.count;
	return 0;
}

int chunk_absorb(struct recording_checkpoint *checkpoint, const struct chunk_info *info,
		 struct chunk_reader *reader, struct error *e)
{
	struct chunk_task task = {
		.info = info, .reader = reader, .whole = true, .options = state_only};
	struct partial *state = NULL, *more = NULL;
	struct error unreadable = {0};
	struct chunk_info first;
	int err = 0;

	if (goes_on(checkpoint, info) && info->end_ns <= checkpoint->end_ns)
		return 0;
	/* a chunk without its manifest does not name its boot; it would end this checkpoint */
	if (checkpoint->data && checkpoint->boot_id[0] && !info->boot_id[0])
		return 0;
	if (goes_on(checkpoint, info))
		err = checkpoint_read(&state, checkpoint->data, checkpoint->bytes, &state_only);
	if (err == -ENOMEM) /* the chunk is whole: the caller may try again */
		return error_set(e, err, "cannot keep what is needed of %s", info->path);
	if (state) {
		task.covered_ns = checkpoint->end_ns;
	} else { /* late records wait for nobody: no chunk before has the rest of their time */
		first = *info;
		first.late_ns = first.begin_ns;
		task.info = &first;
		state = partial_new(&state_only);
	}
	err = state ? chunk_map(&more, &task, NULL, &unreadable) : -ENOMEM;
	if (err && chunk_error_is_own(err)) {
		partial_free(state);
		return 0;
	}
	if (!err)
		err = partial_merge(state, more);
	if (!err && chunk_covers_to(info) < info->end_ns)
		err = partial_ends(state); /* its recorder crashed */
	if (!err)
		err = state_pack(state, info, checkpoint);
	partial_free(state);
	if (err && e && error_is_set(&unreadable))
		*e = unreadable;
	return err ? error_set(e, err, "cannot keep what is needed of %s", info->path) : 0;
}
