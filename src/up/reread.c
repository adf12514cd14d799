/* SPDX-License-Identifier: Apache-2.0 */
#include "up/reread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk.h"
#include "up/chunk_paths.h"
#include "up/join_pass.h"
#include "up/spans_internal.h"

#define BEFORE_NS                                                                                  \
	UINT64_C(2000000000) /* that much earlier: a thread may sleep in the first chunk */

struct rereading {
	u64 from_ns, to_ns; /* since 1970 */
	VEC(struct join_claim *) claims;
	VEC(size_t) numbers; /* of their spans in the batch */
	chunk_path_list paths;
};

/* ---- spans ---- */

static u32 number_of(const struct received_list *list, const char *key)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct attribute *a = &list->data[i];

		if (strcmp(a->key, key) == 0 && a->type == VALUE_INTEGER && a->integer > 0 &&
		    a->integer <= INT32_MAX)
			return (u32)a->integer;
	}
	return 0;
}

static u32 first_of(u32 a, u32 b)
{
	return a ? a : b;
}

static int claim_add(struct rereading *r, const struct received_span *span, size_t number)
{
	u32 tid = first_of(number_of(&span->attributes, "fathom.tid"),
			   number_of(&span->attributes, "thread.id"));
	u32 pid = first_of(number_of(&span->attributes, "fathom.pid"),
			   number_of(&span->resource->attributes, "process.pid"));
	struct join_claim *c;

	if (!tid || !pid || span->end_ns <= span->begin_ns)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->claim = (struct claim){.trace = span->trace,
				  .span_id = span->span_id,
				  .parent_id = span->parent_id,
				  .begin_ns = span->begin_ns,
				  .end_ns = span->end_ns,
				  .pid = pid};
	c->nested = (struct nested){
		.trace = span->trace, .span_id = span->span_id, .parent_id = span->parent_id};
	c->tid = tid;
	if (vec_push(&r->claims, c)) {
		free(c);
		return -ENOMEM;
	}
	r->from_ns = !r->from_ns || span->begin_ns < r->from_ns ? span->begin_ns : r->from_ns;
	r->to_ns = span->end_ns > r->to_ns ? span->end_ns : r->to_ns;
	return vec_push(&r->numbers, number);
}

/* ---- reading ---- */

static void times_set(struct rereading *r, const struct chunk_clock *clock)
{
	for (size_t i = 0; i < r->claims.count; i++) {
		struct join_claim *c = r->claims.data[i];

		c->nested.begin_ns = c->claim.begin_ns - clock->unix_ns + clock->monotonic_ns;
		c->nested.end_ns = c->claim.end_ns - clock->unix_ns + clock->monotonic_ns;
	}
}

/* What was mapped, and the last chunk of it. */
struct reread_part {
	const struct partial *partial;
	const struct chunk_info *chunk;
};

/* Adds what was found below each span. The pool is lent to the builder of spans. */
static int children_add(struct rereading *r, const struct reread_part *part,
			struct received_batch *batch, struct pool *pool)
{
	struct spans s = {.pool = *pool, .chunk = part->chunk};
	int err = 0;

	for (size_t i = 0; i < r->claims.count && !err; i++) {
		struct join_claim *c = r->claims.data[i];
		const struct handed_span handed = {.partial = part->partial,
						   .running = part->partial,
						   .children = c->children.data,
						   .children_count = c->children.count};
		size_t at = s.batch.count;

		if (!c->children.count)
			continue;
		err = vec_push(&s.batch, batch->data[r->numbers.data[i]]);
		err = err ? err : children_know(&s, &handed);
		err = err ? err : kernel_children_add(&s, c->children.data, c->children.count, at);
		for (size_t k = at + 1; k < s.batch.count && !err; k++)
			err = vec_push(batch, s.batch.data[k]);
	}
	*pool = s.pool;
	s.pool = (struct pool){0};
	spans_end(&s);
	return err;
}

static int chunks_read(struct rereading *r, struct received_batch *batch, struct pool *pool,
		       struct error *e)
{
	const struct chunk_info *list[REREAD_CHUNKS_MAX];
	const struct recording_info *info;
	struct recording *recording;
	struct join_range range = {.chunks = list, .by_context = true};
	struct join_mapped mapped = {0};
	int err = recording_open(&recording, (const char *const *)r->paths.data, r->paths.count,
				 NULL, e);

	if (err)
		return err;
	info = recording_info(recording);
	for (size_t i = 0; i < info->chunk_count && i < REREAD_CHUNKS_MAX; i++)
		list[range.chunks_count++] = &info->chunks[i];
	times_set(r, &list[0]->clock);
	err = join_pass(r->claims.data, r->claims.count, &range, &mapped);
	if (!err)
		err = children_add(
			r, &(struct reread_part){mapped.partial, list[range.chunks_count - 1]},
			batch, pool);
	partial_free(mapped.partial);
	recording_close(recording);
	return err ? error_set(e, err, "cannot read chunks") : 0;
}

int reread_kernel(int dir, const char *path, struct received_batch *batch, struct pool *pool,
		  struct error *e)
{
	struct rereading r = {0};
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i++)
		err = claim_add(&r, &batch->data[i], i);
	if (!err && r.claims.count)
		err = chunk_paths_find(&(struct chunk_paths_query){dir, path, r.from_ns, r.to_ns,
								   BEFORE_NS, REREAD_CHUNKS_MAX},
				       &r.paths, e);
	if (!err && r.claims.count)
		err = chunks_read(&r, batch, pool, e);
	for (size_t i = 0; i < r.claims.count; i++) {
		vec_free(&r.claims.data[i]->children);
		free(r.claims.data[i]);
	}
	vec_free(&r.claims);
	vec_free(&r.numbers);
	chunk_paths_free(&r.paths);
	return err;
}
