/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what an answer needs: runs, the gaps between them, and checkpoints where they fit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/file/file.h"
#include "map/partial.h"

/* The state that a checkpoint holds, while states_choose() finds out which ones are used. */
struct old_state {
	struct partial *partial; /* NULL: not used */
	u64 from_ns, end_ns;
};

struct joining {
	const struct partial_boot *boot;
	struct partial_options options;
	struct partial *left; /* so far; NULL: nothing yet */
	u64 covered_ns;
	VEC(struct old_state) states; /* by their ends */
	struct partial_joined *out;
};

/* ---- checkpoints ---- */

/* A checkpoint is not needed if there are chunks of its time, which say more. */
static bool has_chunks_between(const struct partial_boot *boot, u64 from_ns, u64 to_ns)
{
	for (size_t i = 0; i < boot->runs.count; i++)
		for (size_t k = 0; k < boot->runs.data[i]->chunks.count; k++) {
			const struct partial_chunk *c = &boot->runs.data[i]->chunks.data[k];

			if (c->begin_ns < to_ns && c->end_ns > from_ns)
				return true;
		}
	return false;
}

static int state_read(struct joining *j, const struct recording_checkpoint *checkpoint,
		      struct error *e)
{
	struct partial_options options = j->options;
	struct old_state state = {.end_ns = checkpoint->end_ns};
	int err;

	if (options.from_ns < checkpoint->end_ns)
		options.from_ns = checkpoint->end_ns;
	err = checkpoint_read(&state.partial, checkpoint->data, checkpoint->bytes, &options);
	if (err && err != -ENOMEM) {
		error_say(e, err,
			  "a checkpoint %s: names of files and processes seen only in chunks that "
			  "--keep deleted will be missing",
			  err == -EPROTO ? "was written by another version of fathom"
					 : "is damaged");
		return 0;
	}
	if (err)
		return err;
	state.from_ns = state.partial->from_ns;
	if (!has_chunks_between(j->boot, state.from_ns, state.end_ns))
		err = vec_push(&j->states, state);
	else
		state.end_ns = 0;
	if (err || !state.end_ns)
		partial_free(state.partial);
	return err;
}

/* If checkpoints overlap in time, the latest is used: it stands for the others. */
static void states_choose(struct joining *j)
{
	u64 from_ns = UINT64_MAX;
	size_t kept = j->states.count;

	for (size_t i = j->states.count; i-- > 0;) {
		struct old_state state = j->states.data[i];

		if (state.end_ns > from_ns) {
			partial_free(state.partial);
			continue;
		}
		from_ns = state.from_ns;
		j->states.data[--kept] = state;
	}
	j->states.count -= kept;
	if (j->states.count)
		memmove(j->states.data, j->states.data + kept,
			j->states.count * sizeof(*j->states.data));
}

static int states_read(struct joining *j, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < j->boot->checkpoints.count && !err; i++)
		err = state_read(j, &j->boot->checkpoints.data[i], e);
	if (!err)
		states_choose(j);
	return err;
}

/* ---- limits ---- */

/* Sets the limits for merges from here on. */
static void partial_limit(struct partial *p, const struct partial_options *options)
{
	bool spans = p->options.spans;

	p->options = *options;
	p->options.spans = spans;
	for (size_t i = 0; i < p->lives.count; i++) {
		p->lives.data[i]->clip_from_ns = options->from_ns;
		p->lives.data[i]->clip_to_ns = options->to_ns;
	}
}

/*
 * Drops a limit that leaves nothing out: spans that are open at an end of the recording belong to a
 * range that reaches this end. After a checkpoint, the answer begins with the first chunk.
 */
static void limits_find(struct joining *j)
{
	u64 begin_ns = j->out->from_ns;

	if (j->options.to_ns >= j->out->end_ns)
		j->options.to_ns = 0;
	if (j->options.from_ns <= begin_ns)
		j->options.from_ns = 0;
	if (j->states.count && j->states.data[0].end_ns <= begin_ns && !j->options.from_ns)
		j->options.from_ns = begin_ns;
}

/* ---- joining ---- */

/* Puts a gap before the partial, as if it had been the first that it heard of. 0 or -ENOMEM. */
static int partial_behind(struct partial *p, u64 covered_ns, u64 begin_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = begin_ns},
				 .begin_ns = covered_ns};
	int err = vec_push(&p->gaps, gap);

	if (err)
		return err;
	memmove(p->gaps.data + 1, p->gaps.data, (p->gaps.count - 1) * sizeof(gap));
	p->gaps.data[0] = gap;
	for (size_t i = 0; i < p->lives.count; i++)
		if (!p->lives.data[i]->born)
			p->lives.data[i]->severed = true;
	return 0;
}

/* Takes ownership of the partial. */
static int joining_add(struct joining *j, struct partial *p)
{
	partial_limit(p, &j->options);
	if (!j->left) {
		j->left = p;
		return 0;
	}
	return partial_merge(j->left, p);
}

static int state_add(struct joining *j, struct old_state *state)
{
	struct partial *p = state->partial;
	int err = j->left ? checkpoint_follow(p, j->covered_ns, state->end_ns) : 0;

	if (err)
		return err;
	state->partial = NULL;
	j->covered_ns = state->end_ns;
	return joining_add(j, p);
}

/* How many ns of [from_ns, to_ns) lie in the range of the answer. */
static u64 inside(const struct joining *j, u64 from_ns, u64 to_ns)
{
	u64 least = j->options.from_ns, most = j->options.to_ns;

	from_ns = from_ns > least ? from_ns : least;
	to_ns = most && to_ns > most ? most : to_ns;
	return from_ns < to_ns ? to_ns - from_ns : 0;
}

static int run_add(struct joining *j, struct partial_run *run)
{
	struct partial *p = run->partial;
	int err = 0;

	if (!p)
		return 0;
	if (j->left && j->covered_ns < run->chunks.data[0].begin_ns)
		err = partial_behind(p, j->covered_ns, run->chunks.data[0].begin_ns);
	if (err)
		return err;
	run->partial = NULL;
	for (size_t i = 0; i < run->chunks.count; i++) {
		const struct partial_chunk *c = &run->chunks.data[i];
		u64 from_ns = c->begin_ns > j->covered_ns ? c->begin_ns : j->covered_ns;

		if (c->covers_ns <= j->covered_ns)
			continue;
		j->out->recorded_ns += inside(j, from_ns, c->covers_ns);
		j->covered_ns = c->covers_ns;
	}
	return joining_add(j, p);
}

/* Adds states and runs in the order of time. */
static int all_add(struct joining *j)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < j->boot->runs.count && !err; i++) {
		struct partial_run *run = j->boot->runs.data[i];

		while (next < j->states.count && !err &&
		       j->states.data[next].end_ns <= run->chunks.data[0].begin_ns)
			err = state_add(j, &j->states.data[next++]);
		err = err ? err : run_add(j, run);
	}
	if (!err && !j->left)
		j->left = partial_new(&j->options);
	return err || j->left ? err : -ENOMEM;
}

static void bounds_find(const struct partial_boot *boot, struct partial_joined *out)
{
	out->from_ns = boot->runs.data[0]->chunks.data[0].begin_ns;
	for (size_t i = 0; i < boot->runs.count; i++)
		for (size_t k = 0; k < boot->runs.data[i]->chunks.count; k++)
			if (boot->runs.data[i]->chunks.data[k].end_ns > out->end_ns)
				out->end_ns = boot->runs.data[i]->chunks.data[k].end_ns;
}

int partial_file_join(struct partial_file *file, struct partial_boot *boot,
		      const struct partial_options *options, struct partial_joined *out,
		      struct error *e)
{
	struct partial_joined joined = {0};
	struct joining j = {.boot = boot, .options = *options, .out = &joined};
	int err;

	j.options.spans = options->spans && file->terms.spans;
	j.options.from_ns = file->terms.from_ns;
	j.options.to_ns = file->terms.to_ns;
	bounds_find(boot, &joined);
	err = states_read(&j, e);
	if (!err)
		limits_find(&j);
	err = err ? err : all_add(&j);
	for (size_t i = 0; i < j.states.count; i++)
		partial_free(j.states.data[i].partial);
	vec_free(&j.states);
	if (err) {
		partial_free(j.left);
		return error_set(e, err, "cannot join partials");
	}
	joined.partial = j.left;
	*out = joined;
	return 0;
}
