/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks follow each other, and what may not be together.
 *
 * A chunk follows another without a gap if it begins where that one ends: then nothing can come
 * between them, and their partials merge. Whether two chunks do depends on these two alone, so that
 * any order of merges makes the same runs.
 */
#include "map/file/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* ---- what holds ---- */

bool partial_chunk_holds(const struct partial_chunk *c)
{
	return c->begin_ns && c->begin_ns < c->end_ns && c->begin_ns <= c->begun_ns &&
	       c->begin_ns <= c->covers_ns && c->covers_ns <= c->end_ns;
}

bool partial_run_holds(const struct partial_run *run)
{
	u64 end_ns = 0;

	for (size_t i = 0; i < run->chunks.count; i++)
		if (run->chunks.data[i].end_ns > end_ns)
			end_ns = run->chunks.data[i].end_ns;
	return run->partial->from_ns == run->chunks.data[0].begin_ns &&
	       run->partial->to_ns == end_ns;
}

int partial_checkpoint_compare(const struct recording_checkpoint *x,
			       const struct recording_checkpoint *y)
{
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return memcmp(x->data, y->data, x->bytes);
}

bool partial_boot_holds(const struct partial_boot *boot)
{
	const struct recording_checkpoint *list = boot->checkpoints.data;

	for (size_t i = 1; i < boot->checkpoints.count; i++)
		if (partial_checkpoint_compare(&list[i - 1], &list[i]) >= 0)
			return false;
	return true;
}

/* ---- sets ---- */

int partial_chunks_each(const struct partial_file *file, partial_chunk_fn *each, void *arg)
{
	int err = 0;

	for (size_t b = 0; b < file->boots.count; b++) {
		const struct partial_boot *boot = file->boots.data[b];

		for (size_t i = 0; i < boot->runs.count; i++)
			for (size_t k = 0; k < boot->runs.data[i]->chunks.count && !err; k++)
				err = each(arg, &boot->runs.data[i]->chunks.data[k]);
	}
	return err;
}

int partial_identity_add(void *arg, const struct partial_chunk *chunk)
{
	struct bytes_map *set = arg;

	if (bytes_map_get(set, chunk->identity, sizeof(chunk->identity)))
		return -EEXIST;
	return bytes_map_put(set, chunk->identity, sizeof(chunk->identity), PRESENT);
}

int partial_file_identify(struct partial_file *file)
{
	return partial_chunks_each(file, partial_identity_add, &file->identities);
}

size_t partial_file_chunks(const struct partial_file *file)
{
	return file->identities.count;
}

/* ---- making ---- */

struct partial_file *partial_file_new(const struct partial_terms *terms)
{
	struct partial_file *file = calloc(1, sizeof(*file));

	if (file)
		file->terms = *terms;
	return file;
}

struct partial_options partial_file_options(const struct partial_file *file)
{
	return (struct partial_options){.spans = file->terms.spans,
					.hits = true,
					.from_ns = file->terms.from_ns,
					.to_ns = file->terms.to_ns};
}

void partial_run_free(struct partial_run *run)
{
	for (size_t i = 0; i < run->chunks.count; i++)
		free(run->chunks.data[i].missing);
	vec_free(&run->chunks);
	partial_free(run->partial);
	free(run);
}

static void boot_free(struct partial_boot *boot)
{
	for (size_t i = 0; i < boot->runs.count; i++)
		partial_run_free(boot->runs.data[i]);
	for (size_t i = 0; i < boot->checkpoints.count; i++)
		recording_checkpoint_free(&boot->checkpoints.data[i]);
	vec_free(&boot->runs);
	vec_free(&boot->checkpoints);
	free(boot);
}

void partial_file_free(struct partial_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->boots.count; i++)
		boot_free(file->boots.data[i]);
	vec_free(&file->boots);
	bytes_map_free(&file->identities);
	free(file);
}

struct partial_boot *partial_file_boot(const struct partial_file *file, const char *boot_id)
{
	for (size_t i = 0; i < file->boots.count; i++)
		if (strcmp(file->boots.data[i]->boot_id, boot_id) == 0)
			return file->boots.data[i];
	return NULL;
}

static int boot_insert(struct partial_file *file, struct partial_boot *boot)
{
	size_t at = 0;

	while (at < file->boots.count && strcmp(file->boots.data[at]->boot_id, boot->boot_id) < 0)
		at++;
	return LIST_INSERT(&file->boots, at, boot);
}

struct partial_boot *partial_boot_get(struct partial_file *file, const char *boot_id)
{
	struct partial_boot *boot = partial_file_boot(file, boot_id);

	if (boot)
		return boot;
	boot = calloc(1, sizeof(*boot));
	if (!boot)
		return NULL;
	strcpy(boot->boot_id, boot_id);
	if (boot_insert(file, boot)) {
		free(boot);
		return NULL;
	}
	return boot;
}

/* ---- the order of chunks ---- */

int partial_chunk_compare(const struct partial_chunk *x, const struct partial_chunk *y)
{
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return memcmp(x->identity, y->identity, sizeof(x->identity));
}

const struct partial_chunk *partial_run_last(const struct partial_run *run)
{
	return &run->chunks.data[run->chunks.count - 1];
}

bool partial_run_overlaps(const struct partial_run *run, const struct partial_chunk *next)
{
	return partial_chunk_compare(partial_run_last(run), next) >= 0 ||
	       partial_run_last(run)->begin_ns == next->begin_ns ||
	       (next->begin_ns < run->covers_ns && next->begun_ns < run->covers_ns);
}

/* Each stream was cut at a time of its own, and goes on there. */
static bool is_uneven_cut(const struct partial_chunk *last, const struct partial_chunk *next)
{
	return next->begin_ns == last->complete_ns && next->begun_ns == last->end_ns;
}

bool partial_run_follows(const struct partial_run *run, const struct partial_chunk *next)
{
	const struct partial_chunk *last = partial_run_last(run);

	if (last->unread || next->unread || last->covers_ns < last->end_ns)
		return false;
	return next->begin_ns == last->end_ns || is_uneven_cut(last, next);
}

static int chunk_copy(struct partial_run *run, const struct partial_chunk *chunk)
{
	struct partial_chunk copy = *chunk;
	int err;

	copy.missing = strdup(chunk->missing);
	err = copy.missing ? vec_push(&run->chunks, copy) : -ENOMEM;
	if (err)
		free(copy.missing);
	else if (run->covers_ns < copy.covers_ns)
		run->covers_ns = copy.covers_ns;
	return err;
}

int partial_boot_append(struct partial_boot *boot, const struct partial_chunk *chunk)
{
	size_t n = boot->runs.count;
	struct partial_run *last = n ? boot->runs.data[n - 1] : NULL, *run;
	int err;

	if (last && partial_run_overlaps(last, chunk))
		return -EEXIST;
	if (last && partial_run_follows(last, chunk))
		return chunk_copy(last, chunk);
	run = calloc(1, sizeof(*run));
	err = run ? chunk_copy(run, chunk) : -ENOMEM;
	err = err ? err : vec_push(&boot->runs, run);
	if (err && run)
		partial_run_free(run);
	return err;
}
