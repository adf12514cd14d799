/* SPDX-License-Identifier: Apache-2.0 */
/* Merges two partial files into one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "map/file/set.h"

static void chunk_name(const struct partial_chunk *c, char text[CHUNK_NAME_BYTES])
{
	u64 to_unix = c->clock.unix_ns - c->clock.monotonic_ns;

	snprintf(text, CHUNK_NAME_BYTES, "%020llu-%020llu-%06llu",
		 (unsigned long long)(to_unix + c->begin_ns),
		 (unsigned long long)(to_unix + c->end_ns), (unsigned long long)c->seq);
}

static int same_time(const struct partial_chunk *x, const struct partial_chunk *y, struct error *e)
{
	char one[CHUNK_NAME_BYTES], other[CHUNK_NAME_BYTES];

	chunk_name(x, one);
	chunk_name(y, other);
	return error_say(e, EEXIST,
			 "the chunks %s and %s overlap in time, so events that both recorded would "
			 "count twice: keep them in separate files",
			 one, other);
}

/* Joins the run behind `at` into it. 0 or -ENOMEM. */
static int runs_join(struct partial_boot *boot, size_t at)
{
	struct partial_run *left = boot->runs.data[at], *right = boot->runs.data[at + 1];
	int err = vec_move(&left->chunks, &right->chunks);

	if (err)
		return err;
	if (left->covers_ns < right->covers_ns)
		left->covers_ns = right->covers_ns;
	err = partial_merge(left->partial, right->partial);
	right->partial = NULL;
	partial_run_free(right);
	memmove(&boot->runs.data[at + 1], &boot->runs.data[at + 2],
		(boot->runs.count - at - 2) * sizeof(boot->runs.data[0]));
	boot->runs.count--;
	return err;
}

/* The index of the first run that does not begin before the chunk. */
static size_t run_place(const struct partial_boot *boot, const struct partial_chunk *chunk)
{
	size_t low = 0, high = boot->runs.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (partial_chunk_compare(&boot->runs.data[middle]->chunks.data[0], chunk) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Joins the run at `at` with the runs before and behind it if nothing can come between them. */
static int neighbours_join(struct partial_boot *boot, size_t at)
{
	struct partial_run *run = boot->runs.data[at];
	int err = 0;

	if (at + 1 < boot->runs.count &&
	    partial_run_follows(run, &boot->runs.data[at + 1]->chunks.data[0]))
		err = runs_join(boot, at);
	if (!err && at && partial_run_follows(boot->runs.data[at - 1], &run->chunks.data[0]))
		err = runs_join(boot, at - 1);
	return err;
}

/* Moves the last run of `from`. After a failure the run belongs to one of both boots. */
static int run_move(struct partial_boot *to, struct partial_boot *from, struct error *e)
{
	struct partial_run *run = from->runs.data[from->runs.count - 1];
	const struct partial_chunk *first = &run->chunks.data[0];
	struct partial_run **runs = to->runs.data;
	size_t at = run_place(to, first);
	int err;

	if (at && partial_run_overlaps(runs[at - 1], first))
		return same_time(partial_run_last(runs[at - 1]), first, e);
	if (at < to->runs.count && partial_run_overlaps(run, &runs[at]->chunks.data[0]))
		return same_time(partial_run_last(run), &runs[at]->chunks.data[0], e);
	err = LIST_INSERT(&to->runs, at, run);
	if (!err) {
		from->runs.count--;
		err = neighbours_join(to, at);
	}
	return err ? error_set(e, err, "cannot merge partials") : 0;
}

static int checkpoint_add(struct partial_boot *boot, struct recording_checkpoint *checkpoint)
{
	size_t at = 0;
	int order = 1;

	while (at < boot->checkpoints.count &&
	       (order = partial_checkpoint_compare(&boot->checkpoints.data[at], checkpoint)) < 0)
		at++;
	if (at < boot->checkpoints.count && order == 0) {
		recording_checkpoint_free(checkpoint);
		return 0;
	}
	return LIST_INSERT(&boot->checkpoints, at, *checkpoint);
}

/* Moves the checkpoints of `from`. */
static int checkpoints_move(struct partial_boot *to, struct partial_boot *from)
{
	int err = 0;

	while (from->checkpoints.count && !err) {
		err = checkpoint_add(to, &from->checkpoints.data[from->checkpoints.count - 1]);
		if (!err)
			from->checkpoints.count--;
	}
	return err;
}

static int runs_move(struct partial_boot *to, struct partial_boot *from, struct error *e)
{
	int err = 0;

	while (from->runs.count && !err)
		err = run_move(to, from, e);
	return err;
}

/* Moves the runs, too, unless the left file has them already. */
static int boots_move(struct partial_file *left, struct partial_file *right, bool runs,
		      struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < right->boots.count && !err; i++) {
		struct partial_boot *from = right->boots.data[i];
		struct partial_boot *to = partial_boot_get(left, from->boot_id);

		err = to ? checkpoints_move(to, from) : -ENOMEM;
		if (err)
			return error_set(e, err, "cannot merge partials");
		if (runs)
			err = runs_move(to, from, e);
	}
	return err;
}

static int terms_check(const struct partial_terms *x, const struct partial_terms *y,
		       struct error *e)
{
	if (x->spans != y->spans)
		return error_say(e, EINVAL,
				 "one was mapped with --spans and the other without: map their "
				 "chunks alike");
	if (x->from_ns != y->from_ns || x->to_ns != y->to_ns)
		return error_say(e, EINVAL,
				 "they were mapped with different --from or --to: map their chunks "
				 "with the same points of monotonic time");
	return 0;
}

static int is_unread(void *arg, const struct partial_chunk *chunk)
{
	*(size_t *)arg += chunk->unread;
	return 0;
}

/* Whether more chunks could be read when the right one of two files of the same chunks was made. */
static bool knows_more(const struct partial_file *left, const struct partial_file *right)
{
	size_t of_left = 0, of_right = 0;

	partial_chunks_each(left, is_unread, &of_left);
	partial_chunks_each(right, is_unread, &of_right);
	return of_right < of_left;
}

static void files_swap(struct partial_file *x, struct partial_file *y)
{
	struct partial_file was = *x;

	*x = *y;
	*y = was;
}

/* The chunks that two files share. */
struct sharing {
	const struct bytes_map *identities; /* of one file; borrowed */
	size_t count;			    /* of the other's chunks that are in it */
	const struct partial_chunk *first;
};

static int sharing_count(void *arg, const struct partial_chunk *chunk)
{
	struct sharing *s = arg;

	if (!bytes_map_get(s->identities, chunk->identity, sizeof(chunk->identity)))
		return 0;
	if (!s->count++)
		s->first = chunk;
	return 0;
}

static int overlap(const struct partial_chunk *shared, struct error *e)
{
	char name[CHUNK_NAME_BYTES];

	chunk_name(shared, name);
	return error_say(e, EEXIST,
			 "they share the chunk %s, but each also has chunks that the other lacks: "
			 "merge files that share no chunk",
			 name);
}

/* `count`: how many chunks both files have. */
static int sets_merge(struct partial_file *left, struct partial_file *right, size_t count,
		      struct error *e)
{
	size_t lefts = left->identities.count, rights = right->identities.count;
	int err;

	if (count == 0) {
		left->illegible += right->illegible;
		err = partial_chunks_each(right, partial_identity_add, &left->identities);
		return err ? error_set(e, err, "cannot merge partials")
			   : boots_move(left, right, true, e);
	}
	if (lefts == rights && left->illegible < right->illegible)
		left->illegible = right->illegible;
	else if (lefts == rights)
		right->illegible = left->illegible;
	if (lefts < rights || (lefts == rights && knows_more(left, right)))
		files_swap(left, right);
	return boots_move(left, right, false, e);
}

int partial_file_merge(struct partial_file *left, struct partial_file *right, struct error *e)
{
	struct sharing shared = {.identities = &left->identities};
	int err = terms_check(&left->terms, &right->terms, e);

	partial_chunks_each(right, sharing_count, &shared);
	if (!err && shared.count && shared.count != left->identities.count &&
	    shared.count != right->identities.count)
		err = overlap(shared.first, e);
	if (!err)
		err = sets_merge(left, right, shared.count, e);
	partial_file_free(right);
	return err;
}

int partial_file_add_checkpoint(struct partial_file *file,
				const struct recording_checkpoint *checkpoint)
{
	struct partial_boot *boot = partial_file_boot(file, checkpoint->boot_id);
	struct recording_checkpoint copy = *checkpoint;
	int err;

	if (!boot)
		return 0;
	copy.data = malloc(copy.bytes + 1);
	if (!copy.data)
		return -ENOMEM;
	memcpy(copy.data, checkpoint->data, copy.bytes);
	err = checkpoint_add(boot, &copy);
	if (err)
		recording_checkpoint_free(&copy);
	return err;
}
