/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/checkpoint.h"
#include "chunk/chunk.h"
#include "map/chunk_map.h"

struct feed {
	char *dir; /* owned */
	bool remove;
	struct sum_choice sums;
	size_t window; /* chunks that the next answer has again */
	bool spans;
	char *newest; /* owned: the path of the last chunk that no answer has again; NULL: none yet
		       */
	struct notice notice;
	struct recording_checkpoint checkpoint; /* the state at the end of that chunk */
};

static int newest_set(struct feed *f, const char *path, struct error *e)
{
	char *copy = strdup(path);

	if (!copy)
		return error_set(e, ENOMEM, "cannot follow %s", f->dir);
	free(f->newest);
	f->newest = copy;
	return 0;
}

/*
 * Puts sealed chunks into the checkpoint: those that were answered, or are older than the feed. The
 * last ones stay for the next answer, if it is to have them.
 */
static int shown_absorb(struct feed *f, struct error *e)
{
	const struct recording_options later = {.after = f->newest};
	const char *const dirs[] = {f->dir};
	const struct recording_info *info;
	struct recording *recording;
	size_t shown;
	int err = recording_open(&recording, dirs, 1, &later, e);

	if (err)
		return err;
	info = recording_info(recording);
	shown = info->chunk_count > f->window ? info->chunk_count - f->window : 0;
	for (size_t i = 0; i < shown && !err; i++) {
		err = chunk_absorb(&f->checkpoint, &info->chunks[i], NULL, e);
		if (!err && f->remove)
			chunk_remove(info->chunks[i].path, NULL);
	}
	if (!err && shown)
		err = newest_set(f, info->chunks[shown - 1].path, e);
	recording_close(recording);
	return err;
}

/* Absorbs the chunks that are older than the feed, so that what continues has names. */
static int past_absorb(struct feed *f, struct error *e)
{
	int err = recording_checkpoint_read(f->dir, NULL, &f->checkpoint, NULL);

	if (err && err != -ENOENT && err != -EBADMSG)
		return error_set(e, err, "cannot follow %s", f->dir);
	err = shown_absorb(f, e);
	if (err != -ENOENT) /* no chunk is sealed yet */
		return err;
	error_clear(e);
	return 0;
}

int feed_open(struct feed **out, const struct feed_options *options, struct error *e)
{
	struct feed *f = calloc(1, sizeof(*f));

	*out = f;
	if (!f)
		return error_set(e, ENOMEM, "cannot follow %s", options->dir);
	f->remove = options->remove;
	f->sums = options->sums;
	f->notice = options->notice;
	f->dir = strdup(options->dir);
	if (!f->dir)
		return error_set(e, ENOMEM, "cannot follow %s", options->dir);
	return f->remove ? 0 : past_absorb(f, e);
}

int feed_next(struct feed *f, struct source *out, struct error *e)
{
	const char *dirs[] = {f->dir};
	struct source_options from = {.dirs = dirs,
				      .dirs_count = 1,
				      .more = true,
				      .spans = f->spans,
				      .sums = f->sums,
				      .notice = f->notice,
				      .after = f->newest,
				      .checkpoint = f->checkpoint.data ? &f->checkpoint : NULL};
	int err;

	from.from.kind = from.checkpoint ? TIME_POINT_MONOTONIC : TIME_POINT_NONE;
	from.from.ns = f->checkpoint.end_ns;
	err = source_load(&from, out, e);
	if (!err)
		err = shown_absorb(f, e);
	if (!err && out->view.clocks_count > 1) { /* the last relation is enough for a short time */
		out->view.clocks += out->view.clocks_count - 1;
		out->view.clocks_count = 1;
	}
	return err;
}

void feed_window(struct feed *f, size_t chunks, bool spans)
{
	f->window = chunks;
	f->spans = spans;
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	recording_checkpoint_free(&f->checkpoint);
	free(f->newest);
	free(f->dir);
	free(f);
}
