/* SPDX-License-Identifier: Apache-2.0 */
#include "up/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/file/whole.h"
#include "map/handover/handover.h"

struct recent_chunk *recent_chunk_new(const struct chunk_info *info, struct partial *p)
{
	struct recent_chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->info = *info;
	if (!partial_write(p, &c->bytes) && !c->bytes.failed)
		return c;
	recent_chunk_free(c);
	return NULL;
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
