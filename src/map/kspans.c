/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed span is a list of its 8-byte words that are not zero, in their order: a tag, then the
 * word's lowest bytes up to the last that is not zero. A tag has in its high four bits how far the
 * word stands behind the one before, in the low four how many bytes follow; 0 of them: a word that
 * is zero, for the way to one farther off; NAMED and more: a byte, with which it is one of the
 * words that the page has for all its spans, since threads and files come again and again.
 * A tag 0 ends the list. Begin stands with the span's place; end is counted from there, and time
 * in the kernel from what a call or fault takes that does nothing else.
 */
#include "map/kspans.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/internal.h"

#define WORD(field) (offsetof(struct kspan, field) / 8)
#define WORDS (sizeof(struct kspan) / 8)
#define BEGIN WORD(begin_ns)
#define END WORD(end_ns)
#define KERNEL (WORD(split) + SPLIT_kernel)
#define FAR 15u	 /* as far as a tag reaches */
#define NAMED 9u /* to 12: with two bits of the number */
#define NAMES 1024u
/* words are written and read whole, whatever their length */
#define PACKED_MAX (10 * WORDS + 8)
#define PAGE_MIN 4096
#define PAGE_MAX (1u << 20)
#define PLACES_BACK 256

_Static_assert(sizeof(struct kspan) % 8 == 0 && BEGIN == 0 && END == 1, "words, and their order");
_Static_assert(PACKED_MAX < PAGE_MIN / 2, "a page has room");

struct kspans_page {
	size_t used, size; /* of data */
	u64 names[NAMES];  /* words that some of its spans have; 0: none yet */
	unsigned char data[];
};

typedef u64 __attribute__((may_alias)) span_word;

union words {
	struct kspan k;
	span_word word[WORDS];
};

struct packing {
	unsigned char *at;
	size_t last; /* the word before */
	struct kspans_page *page;
};

static inline unsigned char *pack_tag(struct packing *p, size_t index)
{
	while (__builtin_expect(index - p->last > FAR, 0)) {
		*p->at++ = FAR << 4;
		p->last += FAR;
	}
	*p->at = (unsigned char)((index - p->last) << 4);
	return p->at;
}

/* Without a branch, since no two calls have the same arguments that are zero. */
static inline void pack_word(struct packing *p, size_t index, u64 word)
{
	unsigned int bytes = (unsigned int)(71 - __builtin_clzll(word | 1)) / 8;
	unsigned char *tag = pack_tag(p, index);
	u64 little = htole64(word);

	*tag |= (unsigned char)bytes;
	memcpy(tag + 1, &little, 8);
	p->at += word ? 1 + bytes : 0;
	p->last = word ? index : p->last;
}

/* A word that many spans have. */
static inline void pack_name(struct packing *p, size_t index, u64 word)
{
	size_t number = word * 0x9e3779b97f4a7c15u >> 54;
	u64 *name = &p->page->names[number];
	unsigned char *tag;

	if (!*name)
		*name = word;
	if (!word || *name != word) {
		pack_word(p, index, word);
		return;
	}
	tag = pack_tag(p, index);
	tag[0] |= (unsigned char)(NAMED + (number >> 8));
	tag[1] = (unsigned char)number;
	p->at += 2;
	p->last = index;
}

_Static_assert(NAMES == 1u << (64 - 54) && NAMED + ((NAMES - 1) >> 8) < 16, "numbers of names");

static inline bool words_are_zero(const span_word *words, size_t from, size_t to)
{
	u64 any = 0;

	for (size_t i = from; i < to; i++)
		any |= words[i];
	return !any;
}

/* Of what most spans do not have all is looked at only if there is any. */
static inline void pack_rare(struct packing *p, const span_word *words, size_t from, size_t to)
{
	if (__builtin_expect(words_are_zero(words, from, to), 1))
		return;
	for (size_t i = from; i < to; i++)
		pack_word(p, i, words[i]);
}

/* What its time in the kernel would be if it did nothing else. */
static u64 time_expected(const struct kspan *k, u64 duration)
{
	return k->kind == KSPAN_SYSCALL || k->kind == KSPAN_FAULT ? duration : 0;
}

/* Returns where it ends. There is room for PACKED_MAX. */
static unsigned char *pack(struct kspans_page *page, const union words *from)
{
	struct packing p = {.at = page->data + page->used, .page = page};
	const span_word *words = from->word;
	u64 duration = words[END] - words[BEGIN];

	pack_word(&p, END, duration);
	pack_name(&p, WORD(tid), words[WORD(tid)]);
	pack_name(&p, WORD(nr), words[WORD(nr)]);
	pack_word(&p, WORD(visit_ns), words[WORD(visit_ns)]);
#pragma GCC unroll 6
	for (size_t i = WORD(args); i < WORD(result); i++)
		pack_word(&p, i, words[i]);
	pack_word(&p, WORD(result), words[WORD(result)]);
	pack_name(&p, WORD(file), words[WORD(file)]);
	pack_name(&p, WORD(file) + 1, words[WORD(file) + 1]);
	if (!words_are_zero(words, WORD(ctx), WORD(wake))) {
		for (size_t i = WORD(ctx); i < WORD(wake); i++)
			pack_name(&p, i, words[i]);
	}
	pack_rare(&p, words, WORD(wake), WORD(split));
	pack_word(&p, WORD(split), words[WORD(split)]);
	pack_word(&p, KERNEL, words[KERNEL] ^ time_expected(&from->k, duration));
	pack_rare(&p, words, KERNEL + 1, WORDS);
	*p.at = 0;
	return p.at + 1;
}

_Static_assert(WORD(tid) == 2 && WORD(pid) == 2 && WORD(nr) == 3 && WORD(visit_ns) == 4 &&
		       WORD(args) == 5 && WORD(result) == 11 && WORD(file) == 12 &&
		       WORD(ctx) == 14 && WORD(reason) == 17 && WORD(wake) == 18 &&
		       KERNEL == WORD(split) + 1,
	       "each word is packed, in the order of the struct");

static void unpack(const struct kspans_page *page, const unsigned char *at, u64 begin_ns,
		   union words *to)
{
	size_t index = 0;

	memset(to, 0, sizeof(*to));
	for (; *at; at++) {
		unsigned int bytes = *at & 15;
		u64 word;

		index += *at >> 4;
		if (bytes >= NAMED) {
			to->word[index] = page->names[(bytes - NAMED) << 8 | *++at];
		} else if (bytes) {
			memcpy(&word, at + 1, 8);
			to->word[index] = le64toh(word) & ~0ull >> (64 - 8 * bytes);
			at += bytes;
		}
	}
	to->word[KERNEL] ^= time_expected(&to->k, to->word[END]);
	to->word[BEGIN] = begin_ns;
	to->word[END] += begin_ns;
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
		size = page->size < PAGE_MAX ? 4 * page->size : page->size;
	}
	page = malloc(sizeof(*page) + size);
	if (!page)
		return NULL;
	page->used = 0;
	page->size = size;
	memset(page->names, 0, sizeof(page->names));
	if (!vec_push(&spans->pages, page))
		return page;
	free(page);
	return NULL;
}

int kspans_merge(struct kspans *left, struct kspans *right)
{
	size_t before = left->places.count;
	u32 pages = (u32)left->pages.count;
	int err = vec_reserve(&left->pages, right->pages.count);

	err = err ? err : vec_move(&left->places, &right->places);
	if (err)
		return err;
	for (size_t i = before; pages && i < left->places.count; i++)
		left->places.data[i].page += pages;
	return vec_move(&left->pages, &right->pages);
}

static void place_get(const struct kspans *spans, const struct kspans_place *place,
		      struct kspan *out)
{
	const struct kspans_page *page = spans->pages.data[place->page];

	unpack(page, page->data + place->at, place->begin_ns, (union words *)out);
}

void kspans_get(const struct kspans *spans, size_t index, struct kspan *out)
{
	place_get(spans, &spans->places.data[index], out);
}

/* Of two that begin at the same time. */
static int kspan_compare(const struct kspan *x, const struct kspan *y)
{
	int args;

	COMPARE(y->end_ns, x->end_ns); /* what encloses stands first */
	COMPARE(x->tid, y->tid);
	COMPARE(x->kind, y->kind);
	COMPARE(x->nr, y->nr);
	COMPARE(x->result, y->result);
	args = memcmp(x->args, y->args, sizeof(x->args));
	if (args)
		return args;
	COMPARE(x->pid, y->pid);
	COMPARE(x->mode, y->mode);
	COMPARE(x->part, y->part);
	COMPARE(x->state, y->state);
	COMPARE(x->visit_ns, y->visit_ns);
	COMPARE(x->file.key, y->file.key);
	return memcmp(&x->ctx, &y->ctx, sizeof(x->ctx));
}

static int place_compare(const void *a, const void *b, void *arg)
{
	const struct kspans_place *x = a, *y = b;
	struct kspan one, other;

	COMPARE(x->begin_ns, y->begin_ns);
	place_get(arg, x, &one);
	place_get(arg, y, &other);
	return kspan_compare(&one, &other);
}

static inline bool place_is_after(const struct kspans *spans, const struct kspans_place *x,
				  const struct kspans_place *y)
{
	if (__builtin_expect(x->begin_ns == y->begin_ns, 0))
		return place_compare(x, y, (void *)spans) > 0;
	return x->begin_ns > y->begin_ns;
}

/*
 * Spans come in the order of their ends, so that nearly each stands by its begin where it is put,
 * or a few places before that. Of the others one is as well anywhere: kspans_sort() finds it.
 */
static void place_settle(struct kspans *spans)
{
	struct kspans_place *last = &spans->places.data[spans->places.count - 1], *to = last;
	struct kspans_place place = *last;
	size_t most = spans->places.count - 1 < PLACES_BACK ? spans->places.count - 1 : PLACES_BACK;

	while (to > last - most && place_is_after(spans, to - 1, &place))
		to--;
	if (to == last || to == last - PLACES_BACK)
		return;
	memmove(to + 1, to, (size_t)(last - to) * sizeof(*to));
	*to = place;
}

int kspans_add(struct kspans *spans, const struct kspan *k)
{
	struct kspans_page *page = page_with_room(spans);
	struct kspans_place place;

	if (!page)
		return -ENOMEM;
	place = (struct kspans_place){k->begin_ns, (u32)(spans->pages.count - 1), (u32)page->used};
	if (vec_push(&spans->places, place))
		return -ENOMEM;
	page->used = (size_t)(pack(page, (const union words *)k) - page->data);
	place_settle(spans);
	return 0;
}

/*
 * Few are out of order: those are taken out, sorted, and merged with the others from the back.
 * `late` has room for all.
 */
static void places_sort(struct kspans *spans, struct kspans_place *late)
{
	struct kspans_place *places = spans->places.data;
	size_t count = spans->places.count, kept = 0, lates = 0, to = count;

	for (size_t i = 0; i < count; i++) {
		if (!kept || !place_is_after(spans, &places[kept - 1], &places[i]))
			places[kept++] = places[i];
		else
			late[lates++] = places[i];
	}
	if (lates)
		qsort_r(late, lates, sizeof(*late), place_compare, spans);
	while (lates) {
		bool keep = kept && place_is_after(spans, &places[kept - 1], &late[lates - 1]);

		places[--to] = keep ? places[--kept] : late[--lates];
	}
}

int kspans_sort(struct kspans *spans)
{
	struct kspans_place *late = malloc(spans->places.count * sizeof(*late) + 1);

	if (!late)
		return -ENOMEM;
	places_sort(spans, late);
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
