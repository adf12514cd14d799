/* SPDX-License-Identifier: Apache-2.0 */
#include "up/join_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define STATE_CHUNKS 5 /* so often the state of the hand-over is kept */
#define CONTEXTS_MAX 65536

int join_source_init(struct join_source *s)
{
	pthread_mutex_init(&s->lock, NULL);
	s->context_ring = calloc(CONTEXTS_MAX, sizeof(*s->context_ring));
	return s->context_ring ? 0 : -ENOMEM;
}

void join_source_end(struct join_source *s)
{
	for (size_t i = 0; i < JOIN_SOURCE_CHUNKS; i++)
		free(s->told[i]);
	for (size_t i = 0; i < JOIN_SOURCE_STATES; i++)
		bytes_free(&s->states[i].bytes);
	map_free(&s->contexts);
	free(s->context_ring);
	pthread_mutex_destroy(&s->lock);
}

void join_chunks_free(struct join_chunks *c)
{
	vec_free(&c->chunks);
	vec_free(&c->list);
	bytes_free(&c->state);
}

/* ---- what the thread of the hand-over tells ---- */

static u64 ids_hash(struct trace_id trace, u64 span_id)
{
	return hash_pair(hash_pair(trace.high, trace.low), span_id);
}

static int state_keep(struct join_source *s, const struct chunk_info *info, struct handover *h)
{
	struct bytes bytes = {0};
	struct join_state *state;
	int err;

	if (info->seq < s->state_due)
		return 0;
	err = handover_state_write(h, &bytes);
	if (err) {
		bytes_free(&bytes);
		return err;
	}
	pthread_mutex_lock(&s->lock);
	state = &s->states[s->state_at];
	s->state_at = (s->state_at + 1) % JOIN_SOURCE_STATES;
	bytes_free(&state->bytes);
	*state = (struct join_state){bytes, info->seq + 1, info->end_ns};
	pthread_mutex_unlock(&s->lock);
	s->state_due = info->seq + STATE_CHUNKS;
	return 0;
}

/* Forgets the chunk whose place another one takes. */
static void told_from_set(struct join_source *s)
{
	s->from_ns = 0;
	for (size_t i = 0; i < JOIN_SOURCE_CHUNKS; i++) {
		if (s->told[i] && (!s->from_ns || s->told[i]->begin_ns < s->from_ns))
			s->from_ns = s->told[i]->begin_ns;
	}
}

int join_source_chunk(struct join_source *s, const struct chunk_info *info, struct handover *h)
{
	struct chunk_info *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *info;
	pthread_mutex_lock(&s->lock);
	free(s->told[info->seq % JOIN_SOURCE_CHUNKS]);
	s->told[info->seq % JOIN_SOURCE_CHUNKS] = copy;
	s->clock = info->clock;
	s->to_ns = info->end_ns;
	told_from_set(s);
	pthread_mutex_unlock(&s->lock);
	return state_keep(s, info, h);
}

void join_source_context(struct join_source *s, const struct context *ctx)
{
	const struct trace_id trace = {span_number(ctx->trace), span_number(ctx->trace + 8)};
	u64 hash = ids_hash(trace, span_number(ctx->span));
	u64 *place = &s->context_ring[s->context_at];

	pthread_mutex_lock(&s->lock);
	if (!map_get(&s->contexts, hash)) {
		if (*place)
			map_remove(&s->contexts, *place);
		*place = map_put(&s->contexts, hash, PRESENT) ? 0 : hash;
		s->context_at = (s->context_at + 1) % CONTEXTS_MAX;
	}
	pthread_mutex_unlock(&s->lock);
}

bool join_source_has_context(struct join_source *s, struct trace_id trace, u64 span_id)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = map_get(&s->contexts, ids_hash(trace, span_id)) != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* ---- what the thread of the joiner reads ---- */

struct join_times join_source_times(struct join_source *s)
{
	struct join_times times;

	pthread_mutex_lock(&s->lock);
	times = (struct join_times){s->clock, s->from_ns, s->to_ns, clock_now_ns()};
	pthread_mutex_unlock(&s->lock);
	return times;
}

/* With the lock. The latest state that ended by then; NULL: there is none. */
static const struct join_state *state_before(const struct join_source *s, u64 from_ns)
{
	const struct join_state *best = NULL;

	for (size_t i = 0; i < JOIN_SOURCE_STATES; i++) {
		const struct join_state *state = &s->states[i];

		if (state->next && state->end_ns <= from_ns &&
		    (!best || state->end_ns > best->end_ns))
			best = state;
	}
	return best;
}

int join_source_state(struct join_source *s, u64 from_ns, struct recording_checkpoint *out,
		      u64 *first)
{
	struct recording_checkpoint checkpoint = {0};
	const struct join_state *state;
	int err = -ENOENT;

	pthread_mutex_lock(&s->lock);
	state = state_before(s, from_ns);
	if (state) {
		checkpoint.data = malloc(state->bytes.count);
		err = checkpoint.data ? 0 : -ENOMEM;
	}
	if (!err) {
		memcpy(checkpoint.data, state->bytes.data, state->bytes.count);
		checkpoint.bytes = state->bytes.count;
		checkpoint.end_ns = state->end_ns;
		*first = state->next;
		chunk_boot_read(checkpoint.boot_id);
		*out = checkpoint;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int join_source_range(struct join_source *s, u64 from_ns, u64 to_ns, struct join_chunks *out)
{
	const struct join_state *best;
	u64 first = 0, last = 0;
	int err = 0;

	out->state.count = out->chunks.count = out->list.count = 0;
	pthread_mutex_lock(&s->lock);
	best = state_before(s, from_ns);
	if (best) {
		bytes_put(&out->state, best->bytes.data, best->bytes.count);
		first = best->next;
		out->state_end_ns = best->end_ns;
	}
	for (size_t i = 0; i < JOIN_SOURCE_CHUNKS; i++)
		last = s->told[i] && s->told[i]->seq > last ? s->told[i]->seq : last;
	for (u64 seq = last >= JOIN_SOURCE_CHUNKS ? last - JOIN_SOURCE_CHUNKS + 1 : 0;
	     seq <= last && !err; seq++) {
		const struct chunk_info *info = s->told[seq % JOIN_SOURCE_CHUNKS];

		if (info && info->seq == seq && seq >= first && info->begin_ns < to_ns)
			err = vec_push(&out->chunks, *info);
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < out->chunks.count && !err; i++)
		err = vec_push(&out->list, &out->chunks.data[i]);
	return err || out->state.failed ? -ENOMEM : 0;
}

bool join_source_last(struct join_source *s, struct chunk_info *last)
{
	bool has = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < JOIN_SOURCE_CHUNKS; i++) {
		if (s->told[i] && (!has || s->told[i]->seq > last->seq)) {
			*last = *s->told[i];
			has = true;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return has;
}
