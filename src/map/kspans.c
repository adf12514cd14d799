/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed span is a mask of its 8-byte words that are not zero, the length of each of those
 * words without its leading zero bytes (4 bits each, less one), and these bytes. Its begin
 * stands with its place, its end is counted from there.
 */
#include "map/kspans.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (sizeof(struct kspan) / 8)
#define BEGIN (offsetof(struct kspan, begin_ns) / 8)
#define END (offsetof(struct kspan, end_ns) / 8)
/* words are written and read whole, whatever their length */
#define PACKED_MAX (8 + (WORDS + 1) / 2 + 8 * WORDS)
#define PAGE_MIN 4096
#define PAGE_MAX (1u << 20)

_Static_assert(sizeof(struct kspan) % 8 == 0 && WORDS <= 64, "a mask of one word has them all");
_Static_assert(PACKED_MAX < PAGE_MIN / 2, "a page has room");

struct kspans_page {
	size_t used, size; /* of data */
	unsigned char data[];
};

union words {
	struct kspan k;
	u64 word[WORDS];
};

static u64 packed_word(const u64 __attribute__((may_alias)) * words, size_t i)
{
	return i == END ? words[END] - words[BEGIN] : words[i];
}

/* Returns where it ends. There is room for PACKED_MAX. */
static unsigned char *pack(unsigned char *to, const struct kspan *k)
{
	const u64 __attribute__((may_alias)) *words = (const void *)k;
	unsigned char *lengths = to + 8, *at;
	u64 mask = 0;
	size_t n = 0;

	for (size_t i = 0; i < WORDS; i++)
		mask |= (u64)(words[i] != 0) << i;
	mask &= ~(1ull << BEGIN);
	mask |= 1ull << END;
	at = lengths + (__builtin_popcountll(mask) + 1) / 2;
	memset(lengths, 0, (size_t)(at - lengths));
	for (u64 left = mask; left; left &= left - 1, n++) {
		u64 word = packed_word(words, (size_t)__builtin_ctzll(left));
		unsigned int length = (unsigned int)(71 - __builtin_clzll(word | 1)) / 8;
		u64 bytes = htole64(word);

		lengths[n / 2] |= (unsigned char)((length - 1) << n % 2 * 4);
		memcpy(at, &bytes, 8);
		at += length;
	}
	memcpy(to, &mask, 8);
	return at;
}

static void unpack(const unsigned char *from, union words *to)
{
	const unsigned char *lengths = from + 8, *at;
	size_t n = 0;
	u64 mask;

	memcpy(&mask, from, 8);
	at = lengths + (__builtin_popcountll(mask) + 1) / 2;
	memset(to, 0, sizeof(*to));
	for (; mask; mask &= mask - 1, n++) {
		unsigned int length = (lengths[n / 2] >> n % 2 * 4 & 15) + 1;
		u64 bytes;

		memcpy(&bytes, at, 8);
		to->word[__builtin_ctzll(mask)] = le64toh(bytes) & ~0ull >> (64 - 8 * length);
		at += length;
	}
}

/* The last page, if it has room for another, or a new one. NULL if there is no memory. */
static struct kspans_page *page_with_room(struct kspans *spans)
{
	struct kspans_page *page = NULL;
	size_t size = PAGE_MIN;

	if (spans->pages.count) {
		page = spans->pages.data[spans->pages.count - 1];
		if (page->size - page->used >= PACKED_MAX)
			return page;
		size = page->size < PAGE_MAX ? 2 * page->size : page->size;
	}
	page = malloc(sizeof(*page) + size);
	if (!page)
		return NULL;
	page->used = 0;
	page->size = size;
	if (!vec_push(&spans->pages, page))
		return page;
	free(page);
	return NULL;
}

int kspans_add(struct kspans *spans, const struct kspan *k)
{
	struct kspans_page *page = page_with_room(spans);
	unsigned char *at;

	if (!page)
		return -ENOMEM;
	at = page->data + page->used;
	if (vec_push(&spans->places, (struct kspans_place){k->begin_ns, at}))
		return -ENOMEM;
	page->used = (size_t)(pack(at, k) - page->data);
	return 0;
}

int kspans_merge(struct kspans *left, struct kspans *right)
{
	int err = vec_reserve(&left->pages, right->pages.count);

	err = err ? err : vec_move(&left->places, &right->places);
	return err ? err : vec_move(&left->pages, &right->pages);
}

static void place_get(const struct kspans_place *place, union words *to)
{
	unpack(place->at, to);
	to->word[BEGIN] = place->begin_ns;
	to->word[END] += place->begin_ns;
}

void kspans_get(const struct kspans *spans, size_t index, struct kspan *out)
{
	union words words;

	place_get(&spans->places.data[index], &words);
	*out = words.k;
}

/* Of two that begin at the same time. */
static int kspan_compare(const struct kspan *x, const struct kspan *y)
{
	if (x->end_ns != y->end_ns) /* what encloses stands first */
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->nr != y->nr)
		return (int)x->nr - (int)y->nr;
	if (x->result != y->result)
		return x->result < y->result ? -1 : 1;
	return memcmp(x->args, y->args, sizeof(x->args));
}

static int place_compare(const void *a, const void *b)
{
	const struct kspans_place *x = a, *y = b;
	union words one, other;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	place_get(x, &one);
	place_get(y, &other);
	return kspan_compare(&one.k, &other.k);
}

/*
 * Spans come in the order of their ends, so that few are out of order by begin: those are taken
 * out, sorted, and merged with the others from the back. `late` has room for all.
 */
static void places_sort(struct kspans_place *places, size_t count, struct kspans_place *late)
{
	size_t kept = 0, lates = 0, to = count;

	for (size_t i = 0; i < count; i++) {
		if (!kept || place_compare(&places[kept - 1], &places[i]) <= 0)
			places[kept++] = places[i];
		else
			late[lates++] = places[i];
	}
	if (lates)
		qsort(late, lates, sizeof(*late), place_compare);
	while (lates) {
		bool keep = kept && place_compare(&places[kept - 1], &late[lates - 1]) > 0;

		places[--to] = keep ? places[--kept] : late[--lates];
	}
}

int kspans_sort(struct kspans *spans)
{
	size_t count = spans->places.count;
	struct kspans_place *late = malloc(count * sizeof(*late) + 1);

	if (!late)
		return -ENOMEM;
	places_sort(spans->places.data, count, late);
	free(late);
	return 0;
}

void kspans_free(struct kspans *spans)
{
	for (size_t i = 0; i < spans->pages.count; i++)
		free(spans->pages.data[i]);
	vec_free(&spans->pages);
	vec_free(&spans->places);
}
