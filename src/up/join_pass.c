/* SPDX-License-Identifier: Apache-2.0 */
#include "up/join_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/chunk_map.h"
#include "map/partial.h"
#include "map/tree/tree.h"

/* The claims of a process, or of one thread. */
struct group {
	u32 pid, tid;
	struct nest nest; /* of struct join_claim.nested */
};

struct pass {
	struct join_claim *const *claims;
	size_t count;
	const struct join_range *range;
	struct bytes_map known; /* ids -> struct nested */
	struct map numbers;	/* pid, tid -> number of the group + 1 */
	struct map named;	/* pids of which a claim names its thread; a set */
	VEC(struct group) groups;
	struct meters meters;
	struct partial *partial;
	u64 mapped;
	size_t children;
	struct trace_id trace; /* with by_context: of all claims */
};

static struct join_claim *claim_of(const struct nested *nested)
{
	return (struct join_claim *)((char *)nested - offsetof(struct join_claim, nested));
}

/* ---- groups ---- */

/* NULL: no memory. */
static struct group *group_of(struct pass *p, u32 pid, u32 tid)
{
	u64 key = (u64)pid << 32 | tid;
	size_t n = (size_t)(uintptr_t)map_get(&p->numbers, key);

	if (n)
		return &p->groups.data[n - 1];
	if (vec_push(&p->groups, (struct group){.pid = pid, .tid = tid}) ||
	    map_put(&p->numbers, key, (void *)(uintptr_t)p->groups.count))
		return NULL;
	return &p->groups.data[p->groups.count - 1];
}

static bool is_on_main(const struct join_claim *c)
{
	return !c->tid && c->claim.flags & CLAIM_ON_MAIN;
}

static u32 thread_claimed(const struct join_claim *c)
{
	return is_on_main(c) ? c->claim.pid : c->tid;
}

/* serve tells a span again if it could not be stored at once. */
static bool is_repeat(const struct pass *p, const struct join_claim *c)
{
	const struct nested *known = nest_known(&p->known, &c->nested);

	return known && known != &c->nested && known->begin_ns == c->nested.begin_ns &&
	       claim_of((struct nested *)known)->claim.pid == c->claim.pid;
}

static int claims_know(struct pass *p)
{
	int err = 0;

	for (size_t i = 0; i < p->count && !err; i++) {
		struct join_claim *c = p->claims[i];

		if (!nest_known(&p->known, &c->nested))
			err = nest_know(&p->known, &c->nested);
		if (!err && thread_claimed(c))
			err = map_put(&p->named, c->claim.pid, PRESENT);
	}
	return err;
}

static int claims_group(struct pass *p)
{
	int err = claims_know(p);

	for (size_t i = 0; i < p->count && !err; i++) {
		struct join_claim *c = p->claims[i];
		struct group *group;

		if (is_repeat(p, c)) {
			c->joined = JOINED_LEFT_OUT;
			continue;
		}
		/* who names no thread may have had one of those that others name */
		if (!thread_claimed(c) && map_get(&p->named, c->claim.pid)) {
			c->nested.is_ambiguous = true;
			continue;
		}
		group = group_of(p, c->claim.pid, thread_claimed(c));
		err = group ? vec_push(&group->nest.spans, &c->nested) : -ENOMEM;
	}
	return err;
}

static int meters_make(struct pass *p)
{
	int err = 0;

	for (size_t i = 0; i < p->groups.count && !err; i++) {
		struct group *group = &p->groups.data[i];
		struct meter_group *meters;

		err = nest_find(&group->nest, &p->known);
		meters = err ? NULL : meters_group(&p->meters, group->pid, group->tid);
		if (!err && !meters)
			err = -ENOMEM;
		for (size_t s = 0; s < group->nest.stretches.count && !err; s++)
			err = vec_push(&meters->stretches, group->nest.stretches.data[s]);
	}
	return err;
}

/* ---- chunks ---- */

static int chunk_add(struct pass *p, const struct chunk_info *info, u64 covered_ns)
{
	const struct chunk_task task = {
		.info = info, .covered_ns = covered_ns, .options = p->partial->options};
	struct partial *more = NULL;
	int err = chunk_map(&more, &task, NULL, NULL);

	p->mapped++;
	if (err) /* it was deleted meanwhile: a gap, as the next chunk tells */
		return err == -ENOMEM ? err : 0;
	return partial_merge(p->partial, more);
}

static int range_map(struct pass *p)
{
	const struct join_range *r = p->range;
	const struct partial_options options = {.spans = true, .meters = &p->meters};
	u64 covered_ns = r->state_end_ns;
	int err = r->state ? checkpoint_read(&p->partial, r->state->data, r->state->count, &options)
			   : -ENOENT;

	if (err && err != -ENOMEM) {
		p->partial = partial_new(&options);
		err = p->partial ? 0 : -ENOMEM;
		covered_ns = 0;
	}
	if (!err)
		meters_attach_all(p->partial);
	for (size_t i = 0; i < r->chunks_count && !err; i++) {
		err = chunk_add(p, r->chunks[i], covered_ns);
		covered_ns = r->chunks[i]->end_ns;
	}
	err = err ? err : partial_finish(p->partial);
	return err ? err : p->meters.failed ? -ENOMEM : 0;
}

/* ---- threads ---- */

/* Adds the times that a thread had in the stretches to their claims, and to those around them. */
static void thread_sum(const struct group *group, const struct meter *meter, struct split *sums)
{
	const struct nest *n = &group->nest;

	memset(sums, 0, n->spans.count * sizeof(*sums));
	for (size_t i = 0; i < n->stretches.count; i++) {
		const struct split *split = meter_split(meter, i);

		if (split)
			split_add(&sums[n->owners.data[i]], split);
	}
	for (size_t i = n->spans.count; i-- > 0;) {
		if (n->spans.data[i]->up)
			split_add(&sums[n->spans.data[i]->up - 1], &sums[i]);
	}
}

static bool has_worked(const struct split *split)
{
	return split_on_cpu(split) > 0 || split->ns[SPLIT_runnable] > 0 ||
	       split->ns[SPLIT_throttled] > 0;
}

/* Who had the claim, as far as this thread tells. */
static void claim_judge(struct join_claim *c, const struct group *group, u32 tid,
			const struct split *split)
{
	bool is_named = group->tid != 0;

	if (c->nested.is_ambiguous || (is_named ? split_total(split) <= 0 : !has_worked(split)))
		return;
	if (c->thread && c->thread != tid) {
		c->joined = JOINED_AMBIGUOUS;
		return;
	}
	c->thread = tid;
	c->split = *split;
	c->joined = is_named && !is_on_main(c)		   ? JOINED_THREAD
		    : c->claim.flags & CLAIM_BY_CONNECTION ? JOINED_CONNECTION
							   : JOINED_PROCESS;
}

static int group_judge(struct pass *p, const struct group *group)
{
	const struct meter_group *meters = meters_group(&p->meters, group->pid, group->tid);
	const struct nest *n = &group->nest;
	struct split *sums = calloc(n->spans.count + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < n->spans.count; i++) {
		struct join_claim *c = claim_of(n->spans.data[i]);

		c->joined = c->nested.is_ambiguous ? JOINED_AMBIGUOUS : JOINED_NO_THREAD;
		c->thread = 0;
	}
	for (size_t t = 0; t < meters->threads.count; t++) {
		thread_sum(group, &meters->threads.data[t]->meter, sums);
		for (size_t i = 0; i < n->spans.count; i++)
			claim_judge(claim_of(n->spans.data[i]), group, meters->threads.data[t]->tid,
				    &sums[i]);
	}
	for (size_t i = 0; i < n->spans.count; i++) {
		struct join_claim *c = claim_of(n->spans.data[i]);

		if (c->joined == JOINED_AMBIGUOUS) {
			c->thread = 0;
			c->split = (struct split){0};
		}
	}
	free(sums);
	return 0;
}

/* ---- kernel spans ---- */

/* The innermost claim in which it lies; NULL: none. */
static struct join_claim *claim_around(const struct pass *p, const struct kspan *k)
{
	u64 own = (u64)k->pid << 32 | k->tid, all = (u64)k->pid << 32;
	size_t n = (size_t)(uintptr_t)map_get(&p->numbers, own), i;
	const struct nest *nest;

	n = n ? n : (size_t)(uintptr_t)map_get(&p->numbers, all);
	if (!n)
		return NULL;
	nest = &p->groups.data[n - 1].nest;
	i = meter_stretch_behind(nest->stretches.data, nest->stretches.count, k->begin_ns);
	if (i == nest->stretches.count || nest->stretches.data[i].from_ns > k->begin_ns)
		return NULL;
	for (i = nest->owners.data[i] + 1; i; i = nest->spans.data[i - 1]->up) {
		struct nested *span = nest->spans.data[i - 1];

		if (span->begin_ns <= k->begin_ns && k->end_ns <= span->end_ns)
			return claim_of(span);
	}
	return NULL;
}

static struct join_claim *claim_of_context(const struct pass *p, const struct kspan *k)
{
	const struct nested ids = {
		.trace = {span_number(k->ctx.trace), span_number(k->ctx.trace + 8)},
		.span_id = span_number(k->ctx.span)};
	const struct nested *known = ids.span_id ? nest_known(&p->known, &ids) : NULL;

	return known ? claim_of((struct nested *)known) : NULL;
}

static int child_take(struct pass *p, const struct kspan *k)
{
	struct join_claim *c = p->range->by_context ? claim_of_context(p, k) : NULL;

	if (!c) {
		c = claim_around(p, k);
		if (!c || c->thread != k->tid)
			return 0;
	}
	if (c->done)
		return 0;
	if (c->children.count < JOIN_CHILDREN_MAX && p->children < JOIN_CHILDREN_TOTAL_MAX) {
		p->children++;
		return vec_push(&c->children, *k);
	}
	c->more_count++;
	c->more_ns += k->end_ns - k->begin_ns;
	return 0;
}

static int child_compare(const void *a, const void *b)
{
	const struct kspan *x = a, *y = b;
	u64 x_ns = x->end_ns - x->begin_ns, y_ns = y->end_ns - y->begin_ns;

	return x_ns != y_ns ? (x_ns > y_ns ? -1 : 1)
			    : (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int children_take(struct pass *p)
{
	const struct kspans *spans = &p->partial->kspans;
	int err = 0;

	for (size_t i = 0; i < kspans_count(spans) && !err; i++) {
		struct kspan k;

		kspans_get(spans, i, &k);
		err = child_take(p, &k);
	}
	for (size_t i = 0; i < p->count; i++) {
		struct join_claim *c = p->claims[i];

		if (c->children.count)
			qsort(c->children.data, c->children.count, sizeof(*c->children.data),
			      child_compare);
	}
	return err;
}

/* ---- all of it ---- */

int join_pass(struct join_claim *const *claims, size_t count, const struct join_range *range,
	      u64 *mapped)
{
	struct pass p = {.claims = claims, .count = count, .range = range};
	int err;

	for (size_t i = 0; i < count; i++) {
		claims[i]->nested.is_ambiguous = claims[i]->was_ambiguous;
		claims[i]->joined = JOINED_AMBIGUOUS; /* unless a group says otherwise */
	}
	if (range->by_context && count) {
		p.trace = claims[0]->claim.trace;
		p.meters.trace = &p.trace;
	}
	err = claims_group(&p);
	err = err ? err : meters_make(&p);
	err = err ? err : range_map(&p);
	for (size_t i = 0; i < p.groups.count && !err; i++)
		err = group_judge(&p, &p.groups.data[i]);
	err = err ? err : children_take(&p);
	*mapped += p.mapped;
	partial_free(p.partial);
	meters_free(&p.meters);
	for (size_t i = 0; i < p.groups.count; i++)
		nest_free(&p.groups.data[i].nest);
	vec_free(&p.groups);
	map_free(&p.numbers);
	map_free(&p.named);
	bytes_map_free(&p.known);
	return err;
}
