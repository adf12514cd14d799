/* SPDX-License-Identifier: Apache-2.0 */
#include "base/group_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define FEW_ELEMENTS 256     /* up to this many, elements are only compared */
#define ELEMENTS_PER_GROUP 4 /* with fewer per group, grouping does not pay off */

struct group {
	struct group_key key;
	size_t count;
	size_t at; /* place of its next element */
	uint32_t number;
};

struct groups {
	VEC(struct group) list;
	uint32_t *slots; /* a hash table of indices in list + 1; 0: free */
	size_t slot_count;
	uint32_t *of; /* for each element, the number of its group */
	uint32_t last;
};

static bool is_sorted(const char *data, size_t count, const struct group_order *order)
{
	for (size_t i = 1; i < count; i++, data += order->size)
		if (order->compare(data, data + order->size) > 0)
			return false;
	return true;
}

static void compare_sort(void *data, size_t count, const struct group_order *order)
{
	if (count > 1 && !is_sorted(data, count, order))
		qsort(data, count, order->size, order->compare);
}

static bool key_is(const struct group *group, struct group_key key)
{
	return group->key.high == key.high && group->key.low == key.low;
}

static uint32_t *slot_of(const struct groups *g, struct group_key key)
{
	for (size_t i = hash_pair(key.high, key.low);; i++) {
		uint32_t *slot = &g->slots[i & (g->slot_count - 1)];

		if (!*slot || key_is(&g->list.data[*slot - 1], key))
			return slot;
	}
}

static int slots_grow(struct groups *g)
{
	size_t count = g->slot_count ? 4 * g->slot_count : 1024;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(g->slots);
	g->slots = slots;
	g->slot_count = count;
	for (uint32_t i = 0; i < g->list.count; i++)
		*slot_of(g, g->list.data[i].key) = i + 1;
	return 0;
}

/* Finds the group of a key, or makes it, and sets *number. */
static int group_find(struct groups *g, struct group_key key, uint32_t *number)
{
	struct group fresh = {.key = key, .number = (uint32_t)g->list.count};
	uint32_t *slot;
	int err = 0;

	if (2 * (g->list.count + 1) > g->slot_count)
		err = slots_grow(g);
	if (err)
		return err;
	slot = slot_of(g, key);
	if (!*slot) {
		err = vec_push(&g->list, fresh);
		if (err)
			return err;
		*slot = fresh.number + 1;
	}
	*number = *slot - 1;
	return 0;
}

/* Counts the elements of each group. 1, 0 if there are too many groups, or -ENOMEM. */
static int groups_count(struct groups *g, const char *data, size_t count,
			const struct group_order *order)
{
	uint32_t number = 0;

	g->of = malloc(count * sizeof(*g->of));
	if (!g->of || vec_reserve(&g->list, count / ELEMENTS_PER_GROUP + 2))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++, data += order->size) {
		struct group_key key = order->key(data);

		if (!g->list.count || !key_is(&g->list.data[number], key)) {
			int err = group_find(g, key, &number);

			if (err)
				return err;
			if (g->list.count > count / ELEMENTS_PER_GROUP)
				return 0;
		}
		g->of[i] = number;
		g->list.data[number].count++;
	}
	return 1;
}

static int group_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->key.high != y->key.high)
		return x->key.high < y->key.high ? -1 : 1;
	return x->key.low < y->key.low ? -1 : x->key.low > y->key.low;
}

static int number_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Sets the begin of the elements of each group. The list is sorted by number afterwards. */
static void groups_place(struct groups *g)
{
	size_t at = 0;

	qsort(g->list.data, g->list.count, sizeof(*g->list.data), group_compare);
	for (size_t i = 0; i < g->list.count; i++) {
		g->list.data[i].at = at;
		at += g->list.data[i].count;
	}
	qsort(g->list.data, g->list.count, sizeof(*g->list.data), number_compare);
}

static void groups_scatter(struct groups *g, char *to, const char *from, size_t count,
			   const struct group_order *order)
{
	for (size_t i = 0; i < count; i++, from += order->size)
		memcpy(to + order->size * g->list.data[g->of[i]].at++, from, order->size);
	for (size_t i = 0; i < g->list.count; i++) {
		const struct group *group = &g->list.data[i];

		compare_sort(to + order->size * (group->at - group->count), group->count, order);
	}
}

static void groups_free(struct groups *g)
{
	vec_free(&g->list);
	free(g->slots);
	free(g->of);
}

int group_sort(void **data, size_t count, const struct group_order *order)
{
	struct groups g = {0};
	char *sorted = NULL;
	int err = 0;

	if (count > FEW_ELEMENTS && count < UINT32_MAX && !is_sorted(*data, count, order))
		err = groups_count(&g, *data, count, order);
	if (err > 0) {
		sorted = malloc(count * order->size);
		err = sorted ? 0 : -ENOMEM;
	} else if (!err) {
		compare_sort(*data, count, order);
	}
	if (sorted) {
		groups_place(&g);
		groups_scatter(&g, sorted, *data, count, order);
		free(*data);
		*data = sorted;
	}
	groups_free(&g);
	return err;
}
