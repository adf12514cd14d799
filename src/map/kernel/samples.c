/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "map/checkpoint/archive.h"
#include "map/fact/stack.h"
#include "map/partial.h"

static int key_compare(const struct sample_key *x, const struct sample_key *y)
{
	int order;

	COMPARE(x->pid, y->pid);
	COMPARE(x->tid, y->tid);
	COMPARE(x->stretch, y->stretch);
	order = memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
	if (order)
		return order;
	COMPARE(x->flags, y->flags);
	COMPARE(x->kernel, y->kernel);
	COMPARE(x->user, y->user);
	COMPARE(x->words, y->words);
	COMPARE(x->bytes, y->bytes);
	return memcmp(x->frames, y->frames, x->bytes);
}

static u64 key_hash(const struct sample_key *key)
{
	u64 h = hash_pair((u64)key->pid << 32 | key->tid, key->stretch);

	return hash_pair(h ^ hash_bytes(&key->ctx, sizeof(key->ctx)),
			 hash_bytes(key->frames, key->bytes));
}

/* The sum of that key, a new one with its own copy of the frames. NULL: there is no memory. */
static struct sample_sum *sum_of(struct samples *s, const struct sample_key *key)
{
	struct sample_sum fresh = {.key = *key};
	u64 h = key_hash(key);
	size_t number;

	for (; (number = (size_t)map_get(&s->index, h)); h++) /* two keys may have one hash */
		if (key_compare(&s->list.data[number - 1].key, key) == 0)
			return &s->list.data[number - 1];
	fresh.key.frames = malloc(key->bytes + 1u);
	if (!fresh.key.frames)
		return NULL;
	memcpy((char *)fresh.key.frames, key->frames, key->bytes);
	if (vec_push(&s->list, fresh)) {
		free((char *)fresh.key.frames);
		return NULL;
	}
	if (map_put(&s->index, h, (void *)s->list.count))
		return NULL;
	return &s->list.data[s->list.count - 1];
}

static void sum_add(struct sample_sum *to, const struct sample_sum *more)
{
	to->count += more->count;
	to->ns += more->ns;
	if (to->last_ns < more->last_ns)
		to->last_ns = more->last_ns;
}

/* Whether the counts of frames and words fit to the bytes. */
static bool key_is_valid(const struct sample_key *key)
{
	size_t frames = ((size_t)key->kernel + key->user) * 8;

	return key->bytes % 8 == 0 && frames <= key->bytes && key->words <= STACK_WORDS_MAX &&
	       stack_packed_bytes(key->frames + frames, key->bytes - frames, key->words) ==
		       key->bytes - frames;
}

int samples_add(struct partial *p, const struct record_head *head)
{
	const struct record_sample *r = (const void *)head;
	struct sample_sum *sum, one = {.count = 1, .ns = r->period_ns, .last_ns = head->time_ns};
	const struct sample_key key = {.stretch = head->time_ns >> SAMPLE_STRETCH_BITS,
				       .ctx = r->ctx,
				       .tid = head->tid,
				       .pid = head->pid,
				       .flags = r->flags,
				       .kernel = r->kernel,
				       .user = r->user,
				       .words = r->words,
				       .bytes = r->frames_len,
				       .frames = r->frames};

	if (p->options.state_only || !partial_in_range(p, head->time_ns) || !key_is_valid(&key) ||
	    r->period_ns > RECORD_TIME_END_NS)
		return 0;
	sum = sum_of(&p->samples, &key);
	if (!sum)
		return -ENOMEM;
	sum_add(sum, &one);
	return 0;
}

int samples_add_stack(struct partial *p, const struct record_head *head)
{
	const struct record_stack *r = (const void *)head;
	struct sample_sum *sum, one = {.count = 1, .last_ns = head->time_ns};
	const struct sample_key key = {.stretch = head->time_ns >> SAMPLE_STRETCH_BITS,
				       .pid = head->pid,
				       .flags = r->flags,
				       .user = (u16)(r->words >> 16),
				       .words = (u16)r->words,
				       .bytes = r->frames_len,
				       .frames = r->frames};

	if (p->options.state_only || !partial_in_range(p, head->time_ns) ||
	    r->flags & STACK_KERNEL || !(r->flags & STACK_PACKED) || !key_is_valid(&key))
		return 0;
	sum = sum_of(&p->wait_stacks, &key);
	if (!sum)
		return -ENOMEM;
	sum_add(sum, &one);
	return 0;
}

int samples_merge(struct samples *left, struct samples *right)
{
	struct samples empty = *left;

	if (!left->list.count) {
		*left = *right;
		*right = empty;
		return 0;
	}
	for (size_t i = 0; i < right->list.count; i++) {
		struct sample_sum *sum = sum_of(left, &right->list.data[i].key);

		if (!sum)
			return -ENOMEM;
		sum_add(sum, &right->list.data[i]);
	}
	return 0;
}

static int sum_compare(const void *a, const void *b)
{
	return key_compare(&((const struct sample_sum *)a)->key,
			   &((const struct sample_sum *)b)->key);
}

void samples_sort(struct samples *s)
{
	if (s->list.count)
		qsort(s->list.data, s->list.count, sizeof(*s->list.data), sum_compare);
	map_free(&s->index);
}

static void archive_sum(struct archive *a, struct sample_sum *sum)
{
	struct sample_key *key = &sum->key;
	char *frames = (char *)key->frames;
	u32 bytes = key->bytes;

	archive_u64(a, &key->stretch);
	archive_context(a, &key->ctx);
	archive_u32(a, &key->tid);
	archive_u32(a, &key->pid);
	archive_u32(a, &key->flags);
	archive_u16(a, &key->kernel);
	archive_u16(a, &key->user);
	archive_u16(a, &key->words);
	archive_text(a, &frames, &bytes);
	archive_u64(a, &sum->count);
	archive_u64(a, &sum->ns);
	archive_time(a, &sum->last_ns);
	if (!archive_reads(a))
		return;
	key->frames = frames;
	key->bytes = (u16)bytes;
	if (!a->err && (!frames || bytes > UINT16_MAX || !key_is_valid(key)))
		archive_fail(a, -EBADMSG);
}

/* No two of them have the same key. */
static void samples_read(struct archive *a, struct samples *s)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct sample_sum sum = {0}, *to;

		archive_sum(a, &sum);
		to = a->err ? NULL : sum_of(s, &sum.key);
		if (!a->err && !to)
			archive_fail(a, -ENOMEM);
		else if (to && to->count)
			archive_fail(a, -EBADMSG);
		else if (to)
			sum_add(to, &sum);
		free((char *)sum.key.frames);
	}
}

void samples_archive(struct archive *a, struct samples *s)
{
	if (archive_reads(a))
		samples_read(a, s);
	else
		archive_set(a, &s->list, archive_sum);
}

void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->list.count; i++)
		free((char *)s->list.data[i].key.frames);
	vec_free(&s->list);
	map_free(&s->index);
}
