/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that hand nothing over. At a lock, those who wake and those who sleep are the same threads:
 * whom one woke there wakes it there, too. So a word is a lock if for most of its wake-ups the
 * reverse was seen. A lock can consist of several words in one cache line, like that of CPython.
 */
#include "base/hash.h"
#include "request/link_internal.h"

#define CACHE_LINE_BITS 6
#define WAKES_LEAST 8	    /* fewer say nothing */
#define REVERSED_PERCENT 60 /* of a lock's wake-ups, more than this */

/* Names the cache line of a futex, or the file, within all processes. Never 0. */
static u64 place_of(const struct hand_off *h)
{
	u32 word = h->kind == HAND_OFF_FUTEX ? h->word >> CACHE_LINE_BITS : h->word;

	return hash_pair((u64)h->process << 4 | h->kind, word) | 1;
}

static u64 pair_of(const struct hand_off *h, u32 waker, u32 woken)
{
	return hash_pair(place_of(h), (u64)waker << 32 | woken);
}

static u64 sleeper_of(const struct hand_off *h, u32 tid)
{
	return hash_pair(place_of(h), tid);
}

static bool hands_to_another(const struct hand_off *h)
{
	return h->word && h->waker != h->woken;
}

/* A count of wake-ups and, of these, with a reverse, in one value of a map. */
#define COUNTED(all, reversed) ((void *)((uintptr_t)(all) << 32 | (reversed)))

static int place_count(struct map *counts, const struct hand_off *h, bool reversed)
{
	uintptr_t was = (uintptr_t)map_get(counts, place_of(h));

	return map_put(counts, place_of(h), COUNTED((was >> 32) + 1, (u32)was + reversed));
}

static int locks_find(struct link *l, const struct map *counts)
{
	struct map_entry entry;
	int err = 0;

	for (size_t at = 0; !err && map_next(counts, &at, &entry);) {
		u64 all = (uintptr_t)entry.value >> 32, reversed = (u32)(uintptr_t)entry.value;

		if (all >= WAKES_LEAST && reversed * 100 > all * REVERSED_PERCENT)
			err = map_put(&l->symmetric, entry.key, PRESENT);
	}
	return err;
}

int link_words(struct link *l)
{
	const struct link_input *in = l->in;
	struct map pairs = {0}, counts = {0};
	int err = 0;

	for (size_t i = 0; i < in->hand_off_count && !err; i++) {
		const struct hand_off *h = &in->hand_offs[i];

		if (hands_to_another(h))
			err = map_put(&pairs, pair_of(h, h->waker, h->woken), PRESENT);
		if (hands_to_another(h) && !err)
			err = map_put(&l->sleepers, sleeper_of(h, h->woken), PRESENT);
	}
	for (size_t i = 0; i < in->hand_off_count && !err; i++) {
		const struct hand_off *h = &in->hand_offs[i];

		if (hands_to_another(h))
			err = place_count(&counts, h,
					  map_get(&pairs, pair_of(h, h->woken, h->waker)));
	}
	if (!err)
		err = locks_find(l, &counts);
	map_free(&pairs);
	map_free(&counts);
	return err;
}

bool link_waker_sleeps_there(const struct link *l, const struct hand_off *h)
{
	return h->word && map_get(&l->sleepers, sleeper_of(h, h->waker));
}

bool link_word_is_lock(const struct link *l, const struct hand_off *h)
{
	return h->word && map_get(&l->symmetric, place_of(h));
}
