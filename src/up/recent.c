/* SPDX-License-Identifier: Apache-2.0 */
#include "up/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/file/narrow.h"
#include "map/file/whole.h"
#include "map/handover/handover.h"

/* ---- who talks ---- */

/* Adds the processes of which a thread moved bytes in the chunk. 0 or -ENOMEM. */
static int talkers_add(struct talkers *t, const struct partial *p, u64 seq)
{
	struct map threads = {0};
	int err = 0;

	for (size_t i = 0; i < p->facts.bytes.segments.count && !err; i++)
		err = map_put(&threads, p->facts.bytes.segments.data[i].tid, PRESENT);
	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];

		if (map_get(&threads, l->tid) || map_get(&threads, l->left_tid))
			err = map_put(&t->last, l->pid, (void *)(uintptr_t)(seq + 1));
	}
	map_free(&threads);
	return err;
}

/* Forgets those that moved none for so long that no request of them is open. 0 or -ENOMEM. */
static int talkers_forget(struct talkers *t, u64 seq)
{
	struct talkers kept = {0};
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	while (!err && map_next(&t->last, &at, &entry))
		if ((uintptr_t)entry.value + RECENT_CHUNKS_MAX > seq)
			err = map_put(&kept.last, entry.key, entry.value);
	if (err) {
		talkers_free(&kept);
		return err;
	}
	talkers_free(t);
	*t = kept;
	return 0;
}

void talkers_free(struct talkers *t)
{
	map_free(&t->last);
}

/* ---- chunks ---- */

/* Gives back what a buffer has beyond its bytes. */
static void bytes_fit(struct bytes *b)
{
	void *data = b->count ? realloc(b->data, b->count) : NULL;

	if (!data)
		return;
	b->data = data;
	b->capacity = b->count;
}

/* Whether byte ranges were recorded at no time of the chunk. */
static bool is_blind(const struct partial *p)
{
	size_t count = p->filters_told.count;

	for (size_t i = 0; i < count; i++)
		if (!(p->filters_told.data[i].flags & FILTER_BYTES))
			return false;
	return count && !p->facts.bytes.count;
}

struct recent_chunk *recent_chunk_new(const struct chunk_info *info, struct partial *p,
				      struct talkers *talkers)
{
	struct recent_chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->info = *info;
	c->is_blind = is_blind(p);
	if (talkers_forget(talkers, info->seq) || talkers_add(talkers, p, info->seq) ||
	    partial_write_narrow(p, &talkers->last, !c->is_blind, &c->bytes)) {
		recent_chunk_free(c);
		return NULL;
	}
	bytes_fit(&c->bytes);
	return c;
}

void recent_chunk_free(struct recent_chunk *c)
{
	if (c)
		bytes_free(&c->bytes);
	free(c);
}

/* Removes the first chunks. */
static void chunks_drop(struct recent *w, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		w->bytes -= w->chunks.data[i]->bytes.count;
		recent_chunk_free(w->chunks.data[i]);
	}
	if (count)
		memmove(w->chunks.data, w->chunks.data + count,
			(w->chunks.count - count) * sizeof(*w->chunks.data));
	w->chunks.count -= count;
}

int recent_add(struct recent *w, struct recent_chunk *chunk)
{
	const struct chunk_info *last = recent_last(w);
	size_t gone = last && last->seq + 1 != chunk->info.seq ? w->chunks.count : 0;

	if (gone)
		recent_free(w);
	if (vec_push(&w->chunks, chunk)) {
		recent_chunk_free(chunk);
		return -ENOMEM;
	}
	w->bytes += chunk->bytes.count;
	return (int)gone;
}

bool recent_is_full(const struct recent *w)
{
	return w->bytes > RECENT_BYTES_MAX || w->chunks.count > RECENT_CHUNKS_MAX;
}

bool recent_begin(struct recent *w, const struct recording_checkpoint *state, u64 first)
{
	size_t before = 0;

	while (before < w->chunks.count && w->chunks.data[before]->info.seq != first)
		before++;
	if (before == w->chunks.count)
		return false;
	chunks_drop(w, before);
	recording_checkpoint_free(&w->state);
	w->state = *state;
	return true;
}

const struct chunk_info *recent_last(const struct recent *w)
{
	return w->chunks.count ? &w->chunks.data[w->chunks.count - 1]->info : NULL;
}

bool recent_turn_waits(const struct recent *w, u64 wait_ns)
{
	size_t i = w->chunks.count;

	while (i && w->chunks.data[i - 1]->is_blind)
		i--;
	return i && i < w->chunks.count &&
	       recent_last(w)->end_ns < w->chunks.data[i - 1]->info.end_ns + wait_ns;
}

u64 recent_seen_ns(const struct recent *w, u64 from_ns, u64 to_ns)
{
	u64 ns = 0;

	for (size_t i = 0; i < w->chunks.count; i++) {
		const struct recent_chunk *c = w->chunks.data[i];

		if (!c->is_blind && c->info.end_ns > from_ns && c->info.end_ns <= to_ns)
			ns += c->info.end_ns - c->info.begin_ns;
	}
	return ns;
}

int recent_came_add(struct recent_came *c, const struct recent_chunk *chunk)
{
	const struct chunk_times times = {chunk->info.begin_ns, chunk->info.end_ns};

	return chunk->is_blind ? 0 : vec_push(&c->list, times);
}

u64 recent_came_take(struct recent_came *c, u64 from_ns, u64 to_ns)
{
	size_t kept = 0;
	u64 ns = 0;

	for (size_t i = 0; i < c->list.count; i++) {
		const struct chunk_times *t = &c->list.data[i];

		if (t->end_ns > to_ns)
			c->list.data[kept++] = *t;
		else if (t->end_ns > from_ns)
			ns += t->end_ns - t->begin_ns;
	}
	c->list.count = kept;
	return ns;
}

static int chunks_merge(const struct recent *w, struct partial *p)
{
	const struct partial_options options = handover_partial_options();
	int err = 0;

	for (size_t i = 0; i < w->chunks.count && !err; i++) {
		const struct bytes *bytes = &w->chunks.data[i]->bytes;
		struct partial *right;

		err = partial_read(&right, bytes->data, bytes->count, &options);
		err = err ? err : partial_merge(p, right);
	}
	return err ? err : partial_finish(p);
}

int recent_partial(const struct recent *w, struct partial **out)
{
	const struct partial_options options = handover_partial_options();
	struct partial *p;
	int err = checkpoint_read(&p, w->state.data, w->state.bytes, &options);

	if (err)
		return err;
	err = chunks_merge(w, p);
	if (err)
		partial_free(p);
	else
		*out = p;
	return err;
}

void recent_free(struct recent *w)
{
	chunks_drop(w, w->chunks.count);
	vec_free(&w->chunks);
	recording_checkpoint_free(&w->state);
	memset(w, 0, sizeof(*w));
}
