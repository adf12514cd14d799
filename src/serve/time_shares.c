/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/time_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_DEPTH_MAX 4	       /* of waits in calls and faults */
#define PART_MAX_NS (INT64_C(1) << 58) /* so that the parts of a hostile span can be added up */

/* Parts in which a thread can wait for another one, the most likely first. */
static const uint8_t waiting_parts[] = {SPLIT_network, SPLIT_ipc,   SPLIT_off_thread,
					SPLIT_lock,    SPLIT_child, SPLIT_other,
					SPLIT_timer,   SPLIT_idle,  SPLIT_unknown};

#define WAITING_PARTS (sizeof(waiting_parts) / sizeof(*waiting_parts))

struct wait {
	uint64_t begin_ns, end_ns;
	int part; /* enum split_part */
};

typedef VEC(struct wait) wait_list;

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- the children ---- */

static int later_compare(const void *a, const void *b)
{
	const struct child_share *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns > y->begin_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int children_collect(const struct gathered *g, uint32_t at, struct time_shares *out)
{
	int err = 0;

	for (uint32_t c = g->first[at]; c != GATHER_NONE && !err; c = g->next[c]) {
		const struct received_span *child = &g->batch.data[c];

		if (c != at && !gather_kernel_kind(child))
			err = vec_push(
				&out->children,
				((struct child_share){.at = c,
						      .begin_ns = child->begin_ns,
						      .end_ns = child->begin_ns +
								received_duration_ns(child)}));
	}
	if (out->children.count)
		qsort(out->children.data, out->children.count, sizeof(*out->children.data),
		      later_compare);
	return err;
}

/* Gives each instant to the child that ended last, from the end of the parent backwards. */
static void children_cut(const struct received_span *parent, struct time_shares *out)
{
	uint64_t until_ns = parent->begin_ns + out->duration_ns;

	for (size_t i = 0; i < out->children.count; i++) {
		struct child_share *child = &out->children.data[i];

		child->end_ns = least(child->end_ns, until_ns);
		if (child->begin_ns < parent->begin_ns)
			child->begin_ns = parent->begin_ns;
		if (child->begin_ns >= child->end_ns)
			child->begin_ns = child->end_ns = until_ns;
		until_ns = child->begin_ns;
		child->share_ns = child->end_ns - child->begin_ns;
	}
}

/* The first child whose time begins before that; their times follow each other backwards. */
static size_t child_find(const struct time_shares *s, uint64_t before_ns)
{
	size_t low = 0, high = s->children.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->children.data[middle].begin_ns >= before_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How much of a time lies in that of a child, which it touches. */
static uint64_t common_ns(const struct child_share *child, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from_ns = child->begin_ns > begin_ns ? child->begin_ns : begin_ns;
	uint64_t to_ns = least(child->end_ns, end_ns);

	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Children after the last one whose time ends behind that. */
static size_t child_end(const struct time_shares *s, uint64_t behind_ns)
{
	size_t low = 0, high = s->children.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->children.data[middle].end_ns > behind_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How much of the time before an instant children have that ran apart. */
static uint64_t theirs_before(const struct time_shares *s, uint64_t before_ns)
{
	size_t i = child_find(s, before_ns);
	const struct child_share *child = &s->children.data[i];

	if (i == s->children.count)
		return 0;
	return child->apart_before_ns +
	       (child->is_apart ? least(child->end_ns, before_ns) - child->begin_ns : 0);
}

/* How much of a time children have that ran apart. */
static uint64_t theirs_ns(const struct time_shares *s, uint64_t begin_ns, uint64_t end_ns)
{
	return end_ns > begin_ns ? theirs_before(s, end_ns) - theirs_before(s, begin_ns) : 0;
}

/* ---- where they ran ---- */

static bool waits_for_others(int part)
{
	for (size_t i = 0; i < WAITING_PARTS; i++) {
		if (waiting_parts[i] == part)
			return true;
	}
	return false;
}

uint64_t time_shares_wait_ns(const struct time_shares *s, const struct received_span *wait)
{
	uint64_t ns = received_duration_ns(wait);

	return waits_for_others(gather_part(wait->name))
		       ? ns - theirs_ns(s, wait->begin_ns, wait->begin_ns + ns)
		       : ns;
}

static int waits_collect(const struct gathered *g, uint32_t above, unsigned int depth,
			 wait_list *out)
{
	int err = 0;

	for (uint32_t at = g->first[above]; at != GATHER_NONE && depth && !err; at = g->next[at]) {
		const struct received_span *span = &g->batch.data[at];
		const char *kind = gather_kernel_kind(span);

		if (!kind || at == above)
			continue;
		if (strcmp(kind, "wait") != 0)
			err = waits_collect(g, at, depth - 1, out);
		else if (gather_part(span->name) >= 0)
			err = vec_push(out, ((struct wait){span->begin_ns, span->end_ns,
							   gather_part(span->name)}));
	}
	return err;
}

/* Time in which a thread was at work, or wanted to be: no child of another thread has it. */
static uint64_t busy_ns(const struct split *split)
{
	uint64_t ns = 0;

	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		if (!waits_for_others((int)part))
			ns += least((uint64_t)split->ns[part], PART_MAX_NS);
	}
	return ns;
}

/*
 * A span of libfathom that was handed over to another thread has the time of that thread in its
 * split, too: as much work as the child, at least. Others have the time of one thread.
 */
static bool has_time_of(const struct received_span *parent, const struct received_span *child)
{
	struct split all, some;

	return gather_attribute(parent, "fathom.version") &&
	       !gather_attribute(parent, "fathom.join") && gather_split(parent, &all) &&
	       gather_split(child, &some) && busy_ns(&all) >= busy_ns(&some) / 10 * 9;
}

/* Without threads it is told by the waits: a thread does not wait while it has the child. */
static bool ran_apart(const struct received_span *parent, const struct received_span *span,
		      const struct child_share *child)
{
	int64_t one = gather_thread(parent), other = gather_thread(span);

	if (!gather_same_process(parent, span))
		return true;
	if (one >= 0 && one == other)
		return false;
	if (child->waited_ns > child->share_ns / 2)
		return true;
	return one >= 0 && other >= 0 && !has_time_of(parent, span);
}

/*
 * How much of the time of each child the parent waited. Of the children that a wait touches, all
 * but the first and the last one lie in it as a whole: `within` counts these by differences.
 */
static void waited_find(const wait_list *waits, int64_t *within, struct time_shares *s)
{
	struct child_share *children = s->children.data;
	int64_t waits_around = 0;

	for (size_t w = 0; w < waits->count; w++) {
		const struct wait *wait = &waits->data[w];
		size_t first = child_find(s, wait->end_ns), end = child_end(s, wait->begin_ns);

		if (first >= end)
			continue;
		children[first].waited_ns += common_ns(&children[first], wait->begin_ns,
						       wait->end_ns);
		if (end - first < 2)
			continue;
		children[end - 1].waited_ns += common_ns(&children[end - 1], wait->begin_ns,
							 wait->end_ns);
		within[first + 1]++;
		within[end - 1]--;
	}
	for (size_t i = 0; i < s->children.count; i++) {
		waits_around += within[i];
		children[i].waited_ns += (uint64_t)waits_around * children[i].share_ns;
	}
}

/* The sums for theirs_before(). */
static void apart_sum(struct time_shares *s)
{
	uint64_t before_ns = 0;

	for (size_t i = s->children.count; i--;) {
		struct child_share *child = &s->children.data[i];

		child->apart_before_ns = before_ns;
		if (child->is_apart)
			before_ns += child->end_ns - child->begin_ns;
	}
}

static int places_find(const struct gathered *g, uint32_t at, const wait_list *waits,
		       struct time_shares *s)
{
	int64_t *within = calloc(s->children.count + 1, sizeof(*within));

	if (!within)
		return -ENOMEM;
	waited_find(waits, within, s);
	free(within);
	for (size_t i = 0; i < s->children.count; i++) {
		struct child_share *child = &s->children.data[i];

		child->is_apart = ran_apart(&g->batch.data[at], &g->batch.data[child->at], child);
	}
	apart_sum(s);
	return 0;
}

/* ---- the parts ---- */

/* Makes the parts sum to a time. What lacks was not seen. What is too much goes from all. */
static void split_fit(struct split *split, uint64_t ns)
{
	struct scale scale = {.to_ns = ns};

	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++) {
		if (split->ns[part] > PART_MAX_NS)
			split->ns[part] = PART_MAX_NS;
		scale.from_ns += (uint64_t)split->ns[part];
	}
	if (scale.from_ns < ns)
		split->ns[SPLIT_unknown] += (int64_t)(ns - scale.from_ns);
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT && scale.from_ns > ns; part++)
		split->ns[part] = (int64_t)scale_next(&scale, (uint64_t)split->ns[part]);
}

/* Takes time from a part as far as it has it, and returns how much that is. */
static uint64_t part_take(struct split *split, int part, uint64_t ns)
{
	ns = least(ns, (uint64_t)split->ns[part]);
	split->ns[part] -= (int64_t)ns;
	return ns;
}

/*
 * A child in the same thread has its parts from the parent's. One without a split had the same
 * kinds of time as its parent.
 */
static void nested_take(const struct gathered *g, const struct child_share *child,
			struct split *own)
{
	const struct received_span *span = &g->batch.data[child->at];
	struct scale scale = {received_duration_ns(span), child->share_ns, 0, 0};
	struct split split;

	if (!child->share_ns)
		return;
	if (!gather_split(span, &split))
		split = *own;
	split_fit(&split, scale.from_ns);
	for (unsigned int part = 0; part < SPLIT_PARTS_COUNT; part++)
		part_take(own, (int)part, scale_next(&scale, (uint64_t)split.ns[part]));
}

/* Takes the time of children that ran apart from waits of the parent; returns what it had. */
static uint64_t apart_take(const struct time_shares *s, const wait_list *waits, uint64_t wanted_ns,
			   struct split *own)
{
	uint64_t left_ns = wanted_ns;

	for (size_t w = 0; w < waits->count && left_ns; w++) {
		const struct wait *wait = &waits->data[w];
		uint64_t ns = theirs_ns(s, wait->begin_ns, wait->end_ns);

		if (waits_for_others(wait->part))
			left_ns -= part_take(own, wait->part, least(ns, left_ns));
	}
	for (size_t i = 0; i < WAITING_PARTS && left_ns; i++)
		left_ns -= part_take(own, waiting_parts[i], left_ns);
	return wanted_ns - left_ns;
}

/* Children that ran apart have as much as the parent waited. */
static void apart_scale(struct time_shares *s, uint64_t wanted_ns, uint64_t had_ns)
{
	struct scale scale = {.from_ns = wanted_ns, .to_ns = had_ns};

	for (size_t i = 0; i < s->children.count; i++) {
		struct child_share *child = &s->children.data[i];

		if (child->is_apart)
			child->share_ns = scale_next(&scale, child->share_ns);
	}
}

/* What is too much goes from waits: a child had parts that its parent lacks. */
static void own_fit(struct time_shares *s)
{
	int64_t over_ns = split_total(&s->own) - (int64_t)s->own_ns;

	for (size_t i = 0; i < WAITING_PARTS && over_ns > 0; i++)
		over_ns -= (int64_t)part_take(&s->own, waiting_parts[i], (uint64_t)over_ns);
	split_fit(&s->own, s->own_ns);
}

static void parts_calculate(const struct gathered *g, const wait_list *waits, struct time_shares *s)
{
	uint64_t apart_ns = 0;

	if (s->is_measured)
		split_fit(&s->own, s->duration_ns);
	for (size_t i = 0; i < s->children.count; i++) {
		if (s->children.data[i].is_apart)
			apart_ns += s->children.data[i].share_ns;
		else if (s->is_measured)
			nested_take(g, &s->children.data[i], &s->own);
	}
	if (s->is_measured)
		apart_scale(s, apart_ns, apart_take(s, waits, apart_ns, &s->own));
	s->own_ns = s->duration_ns;
	for (size_t i = 0; i < s->children.count; i++)
		s->own_ns -= s->children.data[i].share_ns;
	if (s->is_measured)
		own_fit(s);
}

int time_shares_calculate(const struct gathered *g, uint32_t at, struct time_shares *out)
{
	const struct received_span *span = &g->batch.data[at];
	wait_list waits = {0};
	int err;

	*out = (struct time_shares){.duration_ns = received_duration_ns(span)};
	out->is_measured = gather_split(span, &out->own);
	err = children_collect(g, at, out);
	children_cut(span, out);
	if (!err && out->children.count)
		err = waits_collect(g, at, KERNEL_DEPTH_MAX, &waits);
	err = err ? err : places_find(g, at, &waits, out);
	if (!err)
		parts_calculate(g, &waits, out);
	vec_free(&waits);
	return err;
}

void time_shares_free(struct time_shares *s)
{
	vec_free(&s->children);
}
