/* SPDX-License-Identifier: Apache-2.0 */
#include "map/loss_index.h"

#include <errno.h>

#include "base/order.h"

static size_t lowest_bit(size_t i)
{
	return i & -i;
}

static void node_widen(struct loss_node *n, const struct loss_node *by)
{
	if (by->first_begin_ns < n->first_begin_ns)
		n->first_begin_ns = by->first_begin_ns;
	if (by->last_begin_ns > n->last_begin_ns)
		n->last_begin_ns = by->last_begin_ns;
	if (by->first_end_ns < n->first_end_ns)
		n->first_end_ns = by->first_end_ns;
	if (by->last_end_ns > n->last_end_ns)
		n->last_end_ns = by->last_end_ns;
}

static int list_add(struct loss_list *list, u32 number, const struct record_lost *lost)
{
	size_t i = list->nodes.count + 1, since = i - lowest_bit(i);
	struct loss_node n = {.number = number,
			      .begin_ns = lost->begin_ns,
			      .end_ns = lost->head.time_ns,
			      .first_begin_ns = lost->begin_ns,
			      .last_begin_ns = lost->begin_ns,
			      .first_end_ns = lost->head.time_ns,
			      .last_end_ns = lost->head.time_ns};

	for (size_t j = i - 1; j > since; j -= lowest_bit(j))
		node_widen(&n, &list->nodes.data[j - 1]);
	return vec_push(&list->nodes, n);
}

/* The list of the CPU, made if it is new; NULL if there is no memory. */
static struct loss_list *list_of(struct loss_index *index, u16 cpu)
{
	size_t number = (uintptr_t)map_get(&index->cpus, cpu + 1u);

	if (number)
		return &index->lists.data[number - 1];
	if (vec_push(&index->lists, ((struct loss_list){.cpu = cpu})) ||
	    map_put(&index->cpus, cpu + 1u, (void *)index->lists.count))
		return NULL;
	return &index->lists.data[index->lists.count - 1];
}

int loss_index_add(struct loss_index *index, const struct record_lost *lost)
{
	struct loss_list *list = list_of(index, lost->head.cpu);

	if (!list || list_add(list, (u32)index->count, lost) ||
	    list_add(&index->any, (u32)index->count, lost))
		return -ENOMEM;
	index->count++;
	return 0;
}

void loss_index_free(struct loss_index *index)
{
	vec_free(&index->any.nodes);
	for (size_t i = 0; i < index->lists.count; i++)
		vec_free(&index->lists.data[i].nodes);
	vec_free(&index->lists);
	map_free(&index->cpus);
	index->count = 0;
}

const struct loss_list *loss_index_of(const struct loss_index *index, u16 cpu)
{
	size_t number = (uintptr_t)map_get(&index->cpus, cpu + 1u);

	return number ? &index->lists.data[number - 1] : NULL;
}

static void stretch_widen(struct loss_stretch *s, u64 begin_ns, u64 end_ns)
{
	if (!s->end_ns || begin_ns < s->begin_ns)
		s->begin_ns = begin_ns;
	if (end_ns > s->end_ns)
		s->end_ns = end_ns;
}

/* Widens the stretch by one loss. */
static void stretch_add(struct loss_stretch *s, const struct loss_node *n,
			const struct loss_range *range)
{
	u64 end_ns = n->end_ns < range->until_ns ? n->end_ns : range->until_ns;

	if (n->end_ns <= range->after_ns)
		s->earlier = true;
	else if (n->begin_ns < range->until_ns)
		stretch_widen(s, n->begin_ns, end_ns);
}

/*
 * Widens the stretch by several losses at once; false: they must be looked at one by one. Losses
 * are told when they end, so that this happens only where the range begins in the middle of them,
 * and until the end of the stretch is found.
 */
static bool stretch_add_joined(struct loss_stretch *s, const struct loss_node *n,
			       const struct loss_range *range)
{
	u64 end_ns = n->last_end_ns < range->until_ns ? n->last_end_ns : range->until_ns;

	if (n->last_end_ns <= range->after_ns) {
		s->earlier = true;
		return true;
	}
	if (n->first_end_ns <= range->after_ns)
		return false;
	if (n->first_begin_ns >= range->until_ns)
		return true;
	if (n->last_begin_ns >= range->until_ns && s->end_ns < range->until_ns)
		return false;
	stretch_widen(s, n->first_begin_ns, end_ns);
	return true;
}

size_t loss_list_join(const struct loss_list *list, const struct loss_range *range,
		      struct loss_stretch *stretch)
{
	const struct loss_node *nodes = list->nodes.data;
	size_t first = COUNT_BEFORE(&list->nodes, n, n->number < range->from);
	size_t i = COUNT_BEFORE(&list->nodes, n, n->number < range->to), steps = 0;

	for (; i > first; steps++) {
		size_t joined = lowest_bit(i);

		if (i - first >= joined && stretch_add_joined(stretch, &nodes[i - 1], range)) {
			i -= joined;
			continue;
		}
		stretch_add(stretch, &nodes[i - 1], range);
		i--;
	}
	return steps;
}
