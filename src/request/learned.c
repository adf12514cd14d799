/* SPDX-License-Identifier: Apache-2.0 */
#include "request/learned.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/order.h"

static bool keys_equal(const struct learned_key *a, const struct learned_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The place of a key, or the free place for it. There must be a free place. */
static u32 *learned_place(const struct learned *l, const struct learned_key *key)
{
	for (size_t at = hash_bytes(key, sizeof(*key));; at++) {
		u32 *place = &l->places[at & (l->place_count - 1)];

		if (!*place || keys_equal(&l->rows.data[*place - 1].key, key))
			return place;
	}
}

/* Makes a table with `count` places for the rows that are there. */
static int learned_rehash(struct learned *l, size_t count)
{
	u32 *places = calloc(count, sizeof(*places));

	if (!places)
		return -ENOMEM;
	free(l->places);
	l->places = places;
	l->place_count = count;
	for (size_t i = 0; i < l->rows.count; i++)
		*learned_place(l, &l->rows.data[i].key) = (u32)i + 1;
	return 0;
}

int learned_add(struct learned *l, const struct learned_key *key, u64 count)
{
	struct learned_row row = {*key, count};
	u32 *place;
	int err = 0;

	if (l->rows.count >= l->place_count / 4 * 3)
		err = learned_rehash(l, l->place_count ? l->place_count * 2 : 64);
	if (err)
		return err;
	place = learned_place(l, key);
	if (*place) {
		l->rows.data[*place - 1].count += count;
		return 0;
	}
	if (l->rows.count >= UINT32_MAX - 1)
		return -ENOMEM;
	err = vec_push(&l->rows, row);
	if (!err)
		*place = (u32)l->rows.count;
	return err;
}

u64 learned_count(const struct learned *l, const struct learned_key *key)
{
	u32 place = l->place_count ? *learned_place(l, key) : 0;

	return place ? l->rows.data[place - 1].count : 0;
}

int learned_merge(struct learned *into, const struct learned *from)
{
	int err = 0;

	for (size_t i = 0; i < from->rows.count && !err; i++)
		err = learned_add(into, &from->rows.data[i].key, from->rows.data[i].count);
	return err;
}

static int row_compare(const void *a, const void *b)
{
	const struct learned_key *x = &((const struct learned_row *)a)->key;
	const struct learned_key *y = &((const struct learned_row *)b)->key;

	COMPARE(x->backward, y->backward);
	COMPARE(x->service, y->service);
	COMPARE(x->kind, y->kind);
	COMPARE(x->peer, y->peer);
	COMPARE(x->nth, y->nth);
	COMPARE(x->other, y->other);
	COMPARE(x->value, y->value);
	COMPARE(x->spare, y->spare);
	return 0;
}

void learned_sort(struct learned *l)
{
	if (l->rows.count == 0)
		return;
	qsort(l->rows.data, l->rows.count, sizeof(*l->rows.data), row_compare);
	memset(l->places, 0, l->place_count * sizeof(*l->places));
	for (size_t i = 0; i < l->rows.count; i++)
		*learned_place(l, &l->rows.data[i].key) = (u32)i + 1;
}

/* The number of rows before those of the service, or also of these. */
static size_t rows_before(const struct learned *l, bool backward, u64 service, bool with)
{
	size_t low = 0, high = l->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct learned_key *k = &l->rows.data[middle].key;
		bool before = k->backward != backward ? k->backward < backward
						      : k->service < service;

		if (before || (with && k->backward == backward && k->service == service))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t learned_of_service(const struct learned *sorted, bool backward, u64 service,
			  const struct learned_row **rows)
{
	size_t begin = rows_before(sorted, backward, service, false);

	*rows = sorted->rows.count ? sorted->rows.data + begin : NULL;
	return rows_before(sorted, backward, service, true) - begin;
}

void learned_free(struct learned *l)
{
	vec_free(&l->rows);
	free(l->places);
	*l = (struct learned){0};
}
