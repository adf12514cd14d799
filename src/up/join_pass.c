/* SPDX-License-Identifier: Apache-2.0 */
#include "up/join_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/chunk_map.h"
#include "map/partial.h"
#include "map/tree/tree.h"

/* The claims of a process; their begins and ends part its time into stretches. */
struct group {
	u32 pid;
	VEC(struct join_claim *) claims;
	VEC(u64) bounds;
};

/* The claims of a thread. */
struct owner {
	u32 pid, tid;
	struct nest nest; /* of struct join_claim.nested */
};

struct pass {
	struct join_claim *const *claims;
	size_t count;
	const struct join_range *range;
	struct bytes_map known; /* ids -> struct nested */
	struct map numbers;	/* pid -> number of the group + 1 */
	VEC(struct group) groups;
	struct map owner_numbers; /* pid, tid -> number of the owner + 1 */
	VEC(struct owner) owners;
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
static struct group *group_of(struct pass *p, u32 pid)
{
	size_t n = (size_t)(uintptr_t)map_get(&p->numbers, pid);

	if (n)
		return &p->groups.data[n - 1];
	if (vec_push(&p->groups, (struct group){.pid = pid}) ||
	    map_put(&p->numbers, pid, (void *)(uintptr_t)p->groups.count))
		return NULL;
	return &p->groups.data[p->groups.count - 1];
}

/* serve tells a span again if it could not be stored at once. */
static bool is_repeat(const struct pass *p, const struct join_claim *c)
{
	const struct nested *known = nest_known(&p->known, &c->nested);

	return known && known != &c->nested && known->begin_ns == c->nested.begin_ns &&
	       claim_of((struct nested *)known)->claim.pid == c->claim.pid;
}

static int claims_group(struct pass *p)
{
	int err = 0;

	for (size_t i = 0; i < p->count && !err; i++) {
		if (!nest_known(&p->known, &p->claims[i]->nested))
			err = nest_know(&p->known, &p->claims[i]->nested);
	}
	for (size_t i = 0; i < p->count && !err; i++) {
		struct join_claim *c = p->claims[i];
		struct group *group;

		if (is_repeat(p, c)) {
			c->joined = JOINED_LEFT_OUT;
			continue;
		}
		group = group_of(p, c->claim.pid);
		err = group ? vec_push(&group->claims, c) : -ENOMEM;
		err = err ? err : vec_push(&group->bounds, c->nested.begin_ns);
		err = err ? err : vec_push(&group->bounds, c->nested.end_ns);
	}
	return err;
}

static int bound_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* One stretch from each bound to the next, and a short one at the last. */
static int stretches_make(struct group *group, struct meter_group *meters)
{
	size_t count = 0;
	int err = 0;

	qsort(group->bounds.data, group->bounds.count, sizeof(u64), bound_compare);
	for (size_t i = 0; i < group->bounds.count; i++) {
		if (!count || group->bounds.data[count - 1] != group->bounds.data[i])
			group->bounds.data[count++] = group->bounds.data[i];
	}
	group->bounds.count = count;
	for (size_t i = 0; i < count && !err; i++) {
		u64 from_ns = group->bounds.data[i];
		u64 to_ns = i + 1 < count ? group->bounds.data[i + 1] : from_ns + 1;

		err = vec_push(&meters->stretches, (struct meter_stretch){from_ns, to_ns});
	}
	return err;
}

static int meters_make(struct pass *p)
{
	int err = 0;

	for (size_t i = 0; i < p->groups.count && !err; i++) {
		struct meter_group *meters = meters_group(&p->meters, p->groups.data[i].pid, 0);

		err = meters ? stretches_make(&p->groups.data[i], meters) : -ENOMEM;
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

static bool has_worked(const struct split *split)
{
	return split_on_cpu(split) > 0 || split->ns[SPLIT_runnable] > 0 ||
	       split->ns[SPLIT_throttled] > 0;
}

/* What is known of the threads of a claim so far. */
struct candidates {
	u32 worker, present, named; /* the first one of each kind */
	u32 workers, presents;
	struct split worker_time, present_time, named_time;
};

static u32 thread_named(const struct join_claim *c)
{
	return !c->tid && c->claim.flags & CLAIM_ON_MAIN ? c->claim.pid : c->tid;
}

/* Looks at a thread: whether it had work in the time, and was on a CPU at both ends. */
static void thread_look(const struct join_claim *c, const struct thread_meter *thread,
			const struct split *time, bool present, struct candidates *out)
{
	if (thread->tid == thread_named(c) && split_total(time) > 0) {
		out->named = thread->tid;
		out->named_time = *time;
	}
	if (has_worked(time) && !out->workers++) {
		out->worker = thread->tid;
		out->worker_time = *time;
	}
	if (present && !out->presents++) {
		out->present = thread->tid;
		out->present_time = *time;
	}
}

/* A tracer reads the clock on its own thread when a span begins and when it ends. */
static void claim_judge(struct join_claim *c, const struct candidates *found)
{
	bool is_bound = c->claim.flags & CLAIM_IS_BOUND, one = found->workers == 1;

	c->joined = c->claim.flags & CLAIM_BY_CONNECTION ? JOINED_CONNECTION : JOINED_PROCESS;
	c->owner = 0;
	if (thread_named(c)) {
		c->owner = found->named;
		c->split = found->named_time;
		if (c->tid)
			c->joined = JOINED_THREAD;
	} else if (is_bound && found->presents == 1) {
		c->owner = found->present;
		c->split = found->present_time;
	} else if (one && (!is_bound || !found->presents)) {
		c->owner = found->worker;
		c->split = found->worker_time;
	}
	if (!c->owner)
		c->joined = found->workers ? JOINED_AMBIGUOUS : JOINED_NO_THREAD;
}

static size_t bound_find(const struct group *group, u64 time_ns)
{
	const u64 *found = bsearch(&time_ns, group->bounds.data, group->bounds.count, sizeof(u64),
				   bound_compare);

	return found ? (size_t)(found - group->bounds.data) : 0;
}

/* Looks at one thread for all claims; `sums` is the time of the thread before each bound. */
static void thread_look_all(const struct group *group, const struct thread_meter *thread,
			    struct split *sums, struct candidates *found)
{
	memset(&sums[0], 0, sizeof(*sums));
	for (size_t i = 0; i < group->bounds.count; i++) {
		const struct split *split = meter_split(&thread->meter, i);

		sums[i + 1] = sums[i];
		if (split)
			split_add(&sums[i + 1], split);
	}
	for (size_t i = 0; i < group->claims.count; i++) {
		const struct join_claim *c = group->claims.data[i];
		size_t begin = bound_find(group, c->nested.begin_ns);
		size_t end = bound_find(group, c->nested.end_ns);
		struct split time = sums[end];

		split_subtract(&time, &sums[begin]);
		thread_look(c, thread, &time,
			    meter_on_cpu(&thread->meter, begin) &&
				    meter_on_cpu(&thread->meter, end),
			    &found[i]);
	}
}

static int group_judge(struct pass *p, const struct group *group)
{
	const struct meter_group *meters = meters_group(&p->meters, group->pid, 0);
	struct split *sums = calloc(group->bounds.count + 1, sizeof(*sums));
	struct candidates *found = calloc(group->claims.count + 1, sizeof(*found));
	int err = sums && found && meters ? 0 : -ENOMEM;

	for (size_t t = 0; !err && t < meters->threads.count; t++)
		thread_look_all(group, meters->threads.data[t], sums, found);
	for (size_t i = 0; i < group->claims.count && !err; i++) {
		if (!group->claims.data[i]->done)
			claim_judge(group->claims.data[i], &found[i]);
	}
	free(sums);
	free(found);
	return err;
}

/* ---- spans that have one thread ---- */

/* NULL: no memory. */
static struct owner *owner_of(struct pass *p, u32 pid, u32 tid)
{
	u64 key = (u64)pid << 32 | tid;
	size_t n = (size_t)(uintptr_t)map_get(&p->owner_numbers, key);

	if (n)
		return &p->owners.data[n - 1];
	if (vec_push(&p->owners, (struct owner){.pid = pid, .tid = tid}) ||
	    map_put(&p->owner_numbers, key, (void *)(uintptr_t)p->owners.count))
		return NULL;
	return &p->owners.data[p->owners.count - 1];
}

/* Those that overlap without one lying in its ancestor cannot have the time of their thread. */
static void owner_judge(struct owner *owner)
{
	for (size_t i = 0; i < owner->nest.spans.count; i++) {
		struct join_claim *c = claim_of(owner->nest.spans.data[i]);

		c->thread = owner->tid;
		if (!c->nested.is_ambiguous)
			continue;
		c->joined = JOINED_AMBIGUOUS;
		c->thread = 0;
		c->split = (struct split){0};
	}
}

static int owners_judge(struct pass *p)
{
	int err = 0;

	for (size_t i = 0; i < p->count && !err; i++) {
		struct join_claim *c = p->claims[i];
		struct owner *owner;

		if (!c->owner || c->joined == JOINED_LEFT_OUT)
			continue;
		owner = owner_of(p, c->claim.pid, c->owner);
		err = owner ? vec_push(&owner->nest.spans, &c->nested) : -ENOMEM;
	}
	for (size_t i = 0; i < p->owners.count && !err; i++) {
		err = nest_find(&p->owners.data[i].nest, &p->known);
		if (!err)
			owner_judge(&p->owners.data[i]);
	}
	return err;
}

/* ---- kernel spans ---- */

/* The innermost claim in which it lies; NULL: none. */
static struct join_claim *claim_around(const struct pass *p, const struct kspan *k)
{
	u64 key = (u64)k->pid << 32 | k->tid;
	size_t n = (size_t)(uintptr_t)map_get(&p->owner_numbers, key), i;
	const struct nest *nest;

	if (!n)
		return NULL;
	nest = &p->owners.data[n - 1].nest;
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
	      struct join_mapped *mapped)
{
	struct pass p = {.claims = claims, .count = count, .range = range};
	int err;

	for (size_t i = 0; i < count; i++) {
		claims[i]->nested.is_ambiguous = claims[i]->was_ambiguous;
		if (!claims[i]->done)
			claims[i]->joined = JOINED_NO_THREAD;
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
	err = err ? err : owners_judge(&p);
	err = err ? err : children_take(&p);
	mapped->chunks += p.mapped;
	if (err)
		partial_free(p.partial);
	else
		mapped->partial = p.partial;
	meters_free(&p.meters);
	for (size_t i = 0; i < p.groups.count; i++) {
		vec_free(&p.groups.data[i].claims);
		vec_free(&p.groups.data[i].bounds);
	}
	for (size_t i = 0; i < p.owners.count; i++)
		nest_free(&p.owners.data[i].nest);
	vec_free(&p.groups);
	vec_free(&p.owners);
	map_free(&p.numbers);
	map_free(&p.owner_numbers);
	bytes_map_free(&p.known);
	return err;
}
