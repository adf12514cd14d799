/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/kernel/kspan_filter.h"
#include "map/losses.h"
#include "map/partial.h"
#include "map/records.h"

/*
 * Merges a life of the right partial. If its begin was not seen there, it continues the life with
 * its number at the end of the left partial.
 */
static int life_merge(struct partial *left, struct partial *right, struct life *l, struct map *next)
{
	bool goes_on = map_get(&right->current, l->tid) == l;
	struct life *before = map_get(&left->current, l->left_tid);
	u32 told = l->told;
	bool full = false;
	int err = 0;

	if (before && !l->born && !l->severed) {
		map_remove(&left->current, l->left_tid);
		err = partial_tell_losses(left, before, l->losses_before, UINT64_MAX);
		before->losses_seen = l->losses_seen;
		before->told += l->told;
		if (left->options.meters && !before->meter)
			before->meter = l->meter;
		err = err ? err : life_join(before, l, &left->sink);
		free(l);
		l = before;
	} else {
		if (l->born && !l->severed) /* the life that had this number before ended unseen */
			map_remove(&left->current, l->left_tid);
		if (left->gaps.count || map_get(&left->taken, l->left_tid))
			l->severed = true;
		full = partial_is_full(left);
		left->left_out += full;
		err = full ? 0 : vec_push(&left->lives, l);
		if (err || full) { /* it is in neither partial */
			life_free(l);
			free(l);
		}
	}
	/* records of a life that is left out are no reason to keep more lives */
	if (!full)
		left->fed += told;
	if (!err && !full && goes_on)
		err = map_put(next, l->tid, l);
	return err;
}

static int gaps_merge(struct partial *left, struct partial *right)
{
	int err = 0;

	for (size_t i = 0; i < right->gaps.count && !err; i++)
		err = vec_push(&left->gaps, right->gaps.data[i]);
	return err;
}

/* Removes the first n lives, which have gone to the left partial. */
static void lives_taken(struct partial *p, size_t n)
{
	if (n)
		memmove(p->lives.data, p->lives.data + n,
			(p->lives.count - n) * sizeof(*p->lives.data));
	p->lives.count -= n;
}

/* Lives that had a number before an exec took it have ended, seen or not. */
static int taken_merge(struct partial *left, const struct partial *right)
{
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(&right->taken, &at, &entry)) {
		map_remove(&left->current, (u32)entry.key);
		err = map_put(&left->taken, entry.key, PRESENT);
	}
	return err;
}

/*
 * The lives that go on are noted when all are merged: an exec may have given a life the number of
 * another one whose end is still to be joined.
 */
static int lives_merge(struct partial *left, struct partial *right)
{
	struct map after = {0};
	struct map_entry entry;
	size_t i, at = 0;
	int err = 0;

	for (i = 0; i < right->lives.count && !err; i++)
		err = life_merge(left, right, right->lives.data[i], &after);
	lives_taken(right, i);
	err = err ? err : taken_merge(left, right);
	if (right->gaps.count) /* no life of the left goes on */
		map_free(&left->current);
	while (!err && map_next(&after, &at, &entry))
		err = map_put(&left->current, entry.key, entry.value);
	map_free(&after);
	return err;
}

int partial_merge(struct partial *left, struct partial *right)
{
	/* what lives tell as they are joined asks for facts of both, and more may come */
	bool answers = openings_answer(left);
	int err = facts_merge(&left->facts, &right->facts);
	size_t i;

	err = err ? err : uneven_cuts_merge(left, right);
	err = err ? err : openings_merge(left, right, answers);
	err = err ? err : call_details_merge(&left->details, &right->details);
	if (right->from_ns)
		partial_cover(left, right->from_ns, right->to_ns);
	err = err ? err : losses_merge(left, right);
	cpu_turns_extend(&left->turns, right);
	err = err ? err : lives_merge(left, right);
	err = err ? err : cpu_turns_merge(&left->turns, &right->turns);
	call_details_settle(&left->details);
	err = err ? err : undecided_merge(left, right);
	err = err ? err : kspans_merge(&left->kspans, &right->kspans);
	err = err ? err : facts_merge(&left->facts, &right->facts);
	err = err ? err : spans_merge(left, right);
	err = err ? err : vec_move(&left->span_losses, &right->span_losses);
	err = err ? err : vec_move(&left->unsure, &right->unsure);
	err = err ? err : sums_merge(&left->blocks, &right->blocks);
	err = err ? err : sums_merge(&left->futexes, &right->futexes);
	err = err ? err : events_merge(&left->events, &right->events);
	err = err ? err : samples_merge(&left->samples, &right->samples);
	err = err ? err : samples_merge(&left->wait_stacks, &right->wait_stacks);
	err = err ? err : costs_merge(&left->costs, &right->costs);
	err = err ? err : hits_merge(&left->hits, &right->hits);
	err = err ? err : vec_move(&left->filters_told, &right->filters_told);
	err = err ? err : gaps_merge(left, right);
	for (i = 0; i < sizeof(left->lost) / sizeof(left->lost[0]); i++)
		left->lost[i] += right->lost[i];
	left->left_out += right->left_out;
	left->steal_ns += right->steal_ns;
	if (left->cpus < right->cpus)
		left->cpus = right->cpus;
	if (!left->err)
		left->err = right->err;
	partial_free(right);
	return err ? err : left->err;
}
