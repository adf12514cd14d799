/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static u64 sum_hash(const struct sum_of *of)
{
	u64 h = hash_pair(of->key ^ of->opening, of->pid);

	return hash_pair(h ^ of->file.key, (u64)of->file.dev << 16 | of->file.kind);
}

static bool sum_is(const struct sum *sum, const struct sum_of *of)
{
	return sum->key == of->key && sum->pid == of->pid && sum->opening == of->opening &&
	       sum->file.key == of->file.key && sum->file.dev == of->file.dev &&
	       sum->file.kind == of->file.kind;
}

/* Adds a sum behind the others, which is found under the hash h from now on. */
static int sum_new(struct sums *s, const struct sum_of *of, u64 h, size_t *found)
{
	struct sum fresh = {
		.key = of->key, .pid = of->pid, .file = of->file, .opening = of->opening};
	int err = vec_push(&s->list, fresh);

	if (!err)
		err = map_put(&s->index, h, (void *)s->list.count);
	*found = s->list.count - 1;
	return err;
}

/* The place of the sum that was asked for last, of all with this hint: nearly always the one. */
static u16 *recent_of(struct sums *s, const struct sum_of *of)
{
	u64 mixed = (of->key + ((u64)of->pid << 24)) ^ of->file.key ^ of->opening ^
		    ((u64)of->file.dev << 40 | (u64)of->file.kind << 32);

	return &s->recent[mixed * 0x9e3779b97f4a7c15u >> (64 - SUMS_RECENT_BITS)];
}

static __attribute__((noinline)) int sum_search(struct sums *s, const struct sum_of *of,
						size_t *found)
{
	for (u64 h = sum_hash(of);; h++) { /* two things with one hash take the next number */
		size_t number = (size_t)map_get(&s->index, h);

		if (!number)
			return sum_new(s, of, h, found);
		*found = number - 1;
		if (!sum_is(&s->list.data[*found], of))
			continue;
		if (number <= UINT16_MAX)
			*recent_of(s, of) = (u16)*found;
		return 0;
	}
}

/* The number in the list of the sum of that thing. */
static inline int sum_find(struct sums *s, const struct sum_of *of, size_t *found)
{
	*found = *recent_of(s, of);
	if (*found >= s->list.count || !sum_is(&s->list.data[*found], of))
		return sum_search(s, of, found);
	return 0;
}

int sums_settle(struct sums *s)
{
	int err = 0;

	for (size_t i = 0; i < SUMS_LATE && !err; i++) {
		struct sum_late *late = &s->late[i];

		if (late->number)
			err = histogram_count(&s->list.data[late->number - 1].durations,
					      late->bucket);
		if (!err)
			late->number = 0;
	}
	return err;
}

/*
 * Counts one. The bucket of a large histogram is rarely in a near cache, and nobody asks for it
 * yet: it is fetched while the next few sums are found.
 */
static inline int sum_count(struct sums *s, size_t number, const struct sum_one *one)
{
	struct sum_late *late = &s->late[s->late_next++ % SUMS_LATE], before = *late;
	struct sum *sum = &s->list.data[number];

	if (one->part)
		return 0;
	sum->count++;
	sum->errors += one->error;
	sum->read_bytes += one->read_bytes;
	sum->written_bytes += one->written_bytes;
	histogram_note(&sum->durations, one->duration_ns);
	*late = (struct sum_late){(u32)number + 1, histogram_bucket(one->duration_ns)};
	__builtin_prefetch(histogram_paged(&sum->durations, late->bucket), 1);
	if (!before.number)
		return 0;
	return histogram_count(&s->list.data[before.number - 1].durations, before.bucket);
}

int sums_add(struct sums *s, const struct sum_of *of, const struct split *split,
	     const struct sum_one *one)
{
	size_t number;
	int err = sum_find(s, of, &number);

	if (err)
		return err;
	split_add(&s->list.data[number].split, split);
	if (one->idle)
		work_add(&s->list.data[number].idle, one->idle);
	return sum_count(s, number, one);
}

int sums_add_part(struct sums *s, const struct sum_of *of, enum split_part part,
		  const struct sum_one *one)
{
	size_t number;
	int err = sum_find(s, of, &number);
	s64 *ns;

	if (err)
		return err;
	ns = &s->list.data[number].split.ns[part];
	*ns = split_sum(*ns, (s64)one->duration_ns);
	return sum_count(s, number, one);
}

int sums_give(struct sums *s, const struct sum_of *of, const struct sum *from)
{
	struct sum *to;
	size_t number;
	int err = sum_find(s, of, &number);

	if (err)
		return err;
	to = &s->list.data[number];
	to->count += from->count;
	to->errors += from->errors;
	to->read_bytes += from->read_bytes;
	to->written_bytes += from->written_bytes;
	split_add(&to->split, &from->split);
	work_add(&to->idle, &from->idle);
	return histogram_merge(&to->durations, &from->durations);
}

int sums_merge_as(struct sums *left, struct sums *right,
		  int (*name)(void *arg, const struct sum *sum, struct sum_of *of), void *arg)
{
	int err = sums_settle(left);

	err = err ? err : sums_settle(right);
	for (size_t i = 0; i < right->list.count && !err; i++) {
		const struct sum *from = &right->list.data[i];
		struct sum_of of;

		err = name(arg, from, &of);
		err = err ? err : sums_give(left, &of, from);
	}
	return err;
}

static int own_name(void *arg, const struct sum *sum, struct sum_of *of)
{
	(void)arg;
	*of = sum_names(sum);
	return 0;
}

int sums_merge(struct sums *left, struct sums *right)
{
	struct sums empty = *left;

	if (!left->list.count) { /* both at once would take twice the memory */
		*left = *right;
		*right = empty;
		return 0;
	}
	return sums_merge_as(left, right, own_name, NULL);
}

int sums_take(struct sums *s, struct sum *sum)
{
	struct sum_of of = sum_names(sum);
	size_t count = s->list.count, number;
	int err = sum_search(s, &of, &number);

	if (err)
		return err;
	if (s->list.count == count)
		return -EEXIST;
	s->list.data[number] = *sum;
	sum->durations = (struct histogram){0};
	return 0;
}

static int sum_compare(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	COMPARE(x->key, y->key);
	COMPARE(x->pid, y->pid);
	COMPARE(x->opening, y->opening);
	COMPARE(x->file.dev, y->file.dev);
	COMPARE(x->file.kind, y->file.kind);
	return x->file.key < y->file.key ? -1 : x->file.key > y->file.key;
}

int sums_sort(struct sums *s)
{
	int err = sums_settle(s);

	if (err)
		return err;
	map_free(&s->index);
	if (s->list.count)
		qsort(s->list.data, s->list.count, sizeof(*s->list.data), sum_compare);
	return 0;
}

void sums_free(struct sums *s)
{
	for (size_t i = 0; i < s->list.count; i++)
		histogram_free(&s->list.data[i].durations);
	vec_free(&s->list);
	map_free(&s->index);
}
