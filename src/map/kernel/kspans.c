/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed span is how it differs, by exclusive or of its 8-byte words, from a pattern of its page:
 * the first words of the first span of this thread and kind of call, since a thread does the same
 * again and again. Four bytes are the pattern's number (0: none, all are zero) and how many of the
 * lowest bytes of six words are not zero, which follow. A list has the other words that differ, in
 * their order: a tag, then the lowest bytes. A tag has in its high four bits how far the word
 * stands behind the one before, in the low four how many bytes follow; 0 of them is for the way to
 * one farther off. A tag 0 ends the list.
 * Begin stands with the span's place; end is counted from there, and time in the kernel from what
 * a call or fault takes that does nothing else.
 */
#include "map/kernel/kspans.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define WORD(field) (offsetof(struct kspan, field) / 8)
#define WORDS (sizeof(struct kspan) / 8)
#define BEGIN WORD(begin_ns)
#define END WORD(end_ns)
#define KERNEL (WORD(split) + SPLIT_kernel)
#define FAR 15u /* as far as a tag reaches */
#define PATTERNS 256u
#define PATTERN_WORDS WORD(wake)
#define PATTERN_BYTES (8 * PATTERN_WORDS)
#define BYTES_PER_PATTERN 1024u /* of a page: not more than so many, as each may be used once */
/* words are written and read whole, whatever their length */
#define PACKED_MAX (10 * WORDS + 16 + PATTERN_BYTES)
#define PAGE_MIN 4096
#define PAGE_MAX (1u << 20)
#define PLACES_BACK 256

_Static_assert(sizeof(struct kspan) % 8 == 0 && BEGIN == 0 && END == 1, "words, and their order");
_Static_assert(PACKED_MAX < PAGE_MIN / 2, "a page has room");

struct pattern {
	u64 thread; /* tid and pid */
	u32 call;   /* nr and kind */
	u32 at;	    /* in data, + 1; 0: there is none yet */
};

struct kspans_page {
	size_t used, size; /* of data */
	size_t pattern_count;
	struct pattern patterns[PATTERNS]; /* by hash; the first one is none */
	unsigned char data[];
};

typedef u64 __attribute__((may_alias)) span_word;

union words {
	struct kspan k;
	span_word word[WORDS];
};

/* ---- patterns ---- */

static inline u32 call_of(u16 nr, u8 kind)
{
	return nr | (u32)kind << 16;
}

/* The pattern of such spans; with at 0 the place for it, or the pattern that is none. */
static inline struct pattern *pattern_find(struct kspans_page *page, u64 thread, u32 call)
{
	size_t number = (thread ^ (u64)call << 36) * 0x9e3779b97f4a7c15u >> 56;
	struct pattern *p = &page->patterns[number], *beside = &page->patterns[number ^ 1];

	if (__builtin_expect(p->thread == thread && p->call == call, 1))
		return p;
	if (beside->thread == thread && beside->call == call)
		return beside;
	if (p->at || !number)
		p = beside;
	return p->at ? page->patterns : p;
}

_Static_assert(PATTERNS == 1u << (64 - 56), "numbers of patterns");

/* Whether the page has no such pattern yet, but room for it. */
static inline bool pattern_is_due(const struct kspans_page *page, const struct pattern *p)
{
	return !p->at && p != page->patterns &&
	       page->pattern_count < page->size / BYTES_PER_PATTERN;
}

static void pattern_make(struct kspans_page *page, struct pattern *p, const union words *from)
{
	span_word words[PATTERN_WORDS];

	memcpy(words, from, sizeof(words));
	words[BEGIN] = words[END] = 0; /* a long or negative number would make all others long */
	if (from->k.result < 0)
		words[WORD(result)] = 0;
	memcpy(page->data + page->used, words, sizeof(words));
	*p = (struct pattern){words[WORD(tid)], call_of(from->k.nr, from->k.kind),
			      (u32)page->used + 1};
	page->used += sizeof(words);
	page->pattern_count++;
}

/* ---- packing ---- */

struct packing {
	unsigned char *head, *at;
	u32 lengths;		      /* of six words */
	size_t last;		      /* in the list */
	const unsigned char *pattern; /* its words */
};

static inline void packing_begin(struct packing *to, struct kspans_page *page,
				 const struct pattern *p)
{
	static const unsigned char none[PATTERN_BYTES];

	to->head = page->data + page->used;
	to->at = to->head + 4;
	to->lengths = 0;
	to->last = 0;
	to->pattern = p->at ? page->data + p->at - 1 : none;
	*to->head = p->at ? (unsigned char)(p - page->patterns) : 0;
}

static inline unsigned char *packing_end(struct packing *p)
{
	u32 head = htole32(*p->head | p->lengths << 8);

	memcpy(p->head, &head, 4);
	*p->at = 0;
	return p->at + 1;
}

static inline u64 differs(const struct packing *p, size_t index, u64 word)
{
	u64 pattern;

	memcpy(&pattern, p->pattern + 8 * index, 8);
	return word ^ pattern;
}

/* How many of the lowest bytes of a word are not zero. */
static inline unsigned int length_of(u64 word)
{
	return (7 + (63 ^ (unsigned int)__builtin_clzll(word | word << 1 | 1))) / 8;
}

static inline void pack_bytes(struct packing *p, u64 word, unsigned int length)
{
	u64 little = htole64(word);

	memcpy(p->at, &little, 8);
	p->at += length;
}

/* Packs one of the six frequent words. It has no branch: which of them are set varies by call. */
static inline void pack_often(struct packing *p, size_t index, u64 word)
{
	u64 rest = differs(p, index, word);
	unsigned int length = length_of(rest);

	pack_bytes(p, rest, length);
	p->lengths = p->lengths << 4 | length;
}

/* Packs a word that is rarely set into the list. */
static inline void pack_listed(struct packing *p, size_t index, u64 rest)
{
	unsigned int length = length_of(rest);

	if (!rest)
		return;
	for (; index - p->last > FAR; p->last += FAR)
		*p->at++ = FAR << 4;
	*p->at++ = (unsigned char)((index - p->last) << 4 | length);
	pack_bytes(p, rest, length);
	p->last = index;
}

static inline void pack_word(struct packing *p, size_t index, u64 word)
{
	pack_listed(p, index, differs(p, index, word));
}

static inline void pack_words(struct packing *p, const span_word *words, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		pack_word(p, i, words[i]);
}

/* Its time in the kernel if it did nothing else. */
static u64 time_expected(const struct kspan *k, u64 duration)
{
	return k->kind == KSPAN_SYSCALL || k->kind == KSPAN_FAULT ? duration : 0;
}

/* Packs a span and returns where it ends. There is room for PACKED_MAX. */
static unsigned char *pack(struct kspans_page *page, const struct pattern *pattern,
			   const union words *from)
{
	const span_word *words = from->word;
	u64 duration = words[END] - words[BEGIN];
	struct packing p;

	packing_begin(&p, page, pattern);
	pack_often(&p, END, duration);
	pack_often(&p, WORD(args), words[WORD(args)]);
	pack_often(&p, WORD(args) + 1, words[WORD(args) + 1]);
	pack_often(&p, WORD(args) + 2, words[WORD(args) + 2]);
	pack_often(&p, WORD(result), words[WORD(result)]);
	pack_often(&p, WORD(file), words[WORD(file)]);
	pack_words(&p, words, END + 1, WORD(args));
	pack_words(&p, words, WORD(args) + 3, WORD(result));
	pack_words(&p, words, WORD(file) + 1, PATTERN_WORDS);
	for (size_t i = PATTERN_WORDS; i < KERNEL; i++)
		pack_listed(&p, i, words[i]);
	pack_listed(&p, KERNEL, words[KERNEL] ^ time_expected(&from->k, duration));
	for (size_t i = KERNEL + 1; i < WORDS; i++)
		pack_listed(&p, i, words[i]);
	return packing_end(&p);
}

_Static_assert(WORD(result) == WORD(args) + 6 && WORD(file) == WORD(result) + 1,
	       "each word is packed");

static const u8 call_rest[] = {WORD(tid),      WORD(nr),       WORD(args) + 3,
			       WORD(args) + 4, WORD(args) + 5, WORD(file) + 1,
			       WORD(ctx),      WORD(ctx) + 1,  WORD(ctx) + 2};

/* As pack() of kspan_of_call(), whose time is all as expected. */
static unsigned char *pack_call(struct kspans_page *page, const struct pattern *pattern,
				const struct kspan_call *call)
{
	const struct record_syscall *c = call->record;
	u64 words[5], rest[9]; /* file and context; what seldom differs */
	struct packing p;

	memcpy(words, &c->file, 16);
	memcpy(words + 2, &c->ctx, 24);
	packing_begin(&p, page, pattern);
	pack_often(&p, END, call->end_ns - call->begin_ns);
	pack_often(&p, WORD(args), c->arg0);
	pack_often(&p, WORD(args) + 1, c->arg1);
	pack_often(&p, WORD(args) + 2, c->arg2);
	pack_often(&p, WORD(result), (u64)c->result);
	pack_often(&p, WORD(file), words[0]);
	rest[0] = differs(&p, WORD(tid), call->tid | (u64)call->pid << 32);
	rest[1] = differs(&p, WORD(nr), call_of(c->nr, KSPAN_SYSCALL) | (u64)call->flags << 40);
	rest[2] = differs(&p, WORD(args) + 3, c->arg3);
	rest[3] = differs(&p, WORD(args) + 4, c->arg4);
	rest[4] = differs(&p, WORD(args) + 5, c->arg5);
	for (size_t i = 1; i < 5; i++)
		rest[4 + i] = differs(&p, WORD(file) + i, words[i]);
	if (__builtin_expect(rest[0] | rest[1] | rest[2] | rest[3] | rest[4] | rest[5] | rest[6] |
				     rest[7] | rest[8],
			     0)) {
		for (size_t i = 0; i < 9; i++)
			pack_listed(&p, call_rest[i], rest[i]);
	}
	return packing_end(&p);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && offsetof(struct kspan, pid) == 20 &&
		       offsetof(struct kspan, kind) == 26 && offsetof(struct kspan, mode) == 29 &&
		       WORD(file) + 2 == WORD(ctx) && WORD(ctx) + 3 == WORD(reason) &&
		       sizeof(struct file_ref) == 16 && sizeof(struct context) == 24,
	       "words of a call");

static inline u64 unpack_bytes(const unsigned char **at, unsigned int length)
{
	u64 word;

	if (!length)
		return 0;
	memcpy(&word, *at, 8);
	*at += length;
	return le64toh(word) & ~0ull >> (64 - 8 * length);
}

static void unpack(const struct kspans_page *page, const unsigned char *at, u64 begin_ns,
		   union words *to)
{
	static const u8 often[] = {END,		 WORD(args), WORD(args) + 1, WORD(args) + 2,
				   WORD(result), WORD(file)};
	const struct pattern *pattern = &page->patterns[*at];
	size_t index = 0;
	u32 head;

	memset(to, 0, sizeof(*to));
	if (pattern->at)
		memcpy(to, page->data + pattern->at - 1, PATTERN_BYTES);
	memcpy(&head, at, 4);
	head = le32toh(head);
	at += 4;
	for (int i = 0; i < 6; i++)
		to->word[often[i]] ^= unpack_bytes(&at, head >> (28 - 4 * i) & 15);
	while (*at) {
		u8 tag = *at++;

		index += tag >> 4;
		to->word[index] ^= unpack_bytes(&at, tag & 15);
	}
	to->word[KERNEL] ^= time_expected(&to->k, to->word[END]);
	to->word[BEGIN] = begin_ns;
	to->word[END] += begin_ns;
}

/* A new page behind the others; NULL if there is no memory. */
static struct kspans_page *page_add(struct kspans *spans, size_t size)
{
	struct kspans_page *page = malloc(sizeof(*page) + size);

	if (!page)
		return NULL;
	page->used = page->pattern_count = 0;
	page->size = size;
	memset(page->patterns, 0, sizeof(page->patterns));
	if (!vec_push(&spans->pages, page))
		return page;
	free(page);
	return NULL;
}

/* The last page, if it has room for another, or a new one. NULL if there is no memory. */
static inline struct kspans_page *page_with_room(struct kspans *spans)
{
	struct kspans_page *page;

	if (!spans->pages.count)
		return page_add(spans, PAGE_MIN);
	page = spans->pages.data[spans->pages.count - 1];
	if (__builtin_expect(page->size - page->used >= PACKED_MAX, 1))
		return page;
	return page_add(spans, page->size < PAGE_MAX ? 4 * page->size : page->size);
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

/* The order of two spans that begin at the same time. */
static int kspan_compare(const struct kspan *x, const struct kspan *y)
{
	int args;

	COMPARE(y->end_ns, x->end_ns); /* a span that encloses others stands first */
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
	COMPARE(x->work, y->work);
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
 * Moves the last place to where its begin belongs if that is near. Spans come in the order of their
 * ends, so that nearly all belong at the end or a few places before it; kspans_sort() moves the
 * others.
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

/* Adds the place of the span that is packed next, at the end of the last page. */
static int place_add(struct kspans *spans, const struct kspans_page *page, u64 begin_ns)
{
	struct kspans_place place = {begin_ns, (u32)(spans->pages.count - 1), (u32)page->used};

	return vec_push(&spans->places, place);
}

int kspans_add(struct kspans *spans, const struct kspan *k)
{
	struct kspans_page *page = page_with_room(spans);
	const union words *words = (const union words *)k;
	struct pattern *pattern;

	if (!page)
		return -ENOMEM;
	pattern = pattern_find(page, words->word[WORD(tid)], call_of(k->nr, k->kind));
	if (pattern_is_due(page, pattern))
		pattern_make(page, pattern, words);
	if (place_add(spans, page, k->begin_ns))
		return -ENOMEM;
	page->used = (size_t)(pack(page, pattern, words) - page->data);
	place_settle(spans);
	return 0;
}

struct kspan kspan_of_call(const struct kspan_call *call)
{
	const struct record_syscall *c = call->record;
	struct kspan k = {.kind = KSPAN_SYSCALL,
			  .begin_ns = call->begin_ns,
			  .end_ns = call->end_ns,
			  .tid = call->tid,
			  .pid = call->pid,
			  .nr = c->nr,
			  .mode = call->flags,
			  .args = {c->arg0, c->arg1, c->arg2, c->arg3, c->arg4, c->arg5},
			  .result = c->result,
			  .file = c->file,
			  .ctx = c->ctx};

	k.split.ns[SPLIT_kernel] = (s64)(k.end_ns - k.begin_ns);
	return k;
}

int kspans_add_call(struct kspans *spans, const struct kspan_call *call)
{
	struct kspans_page *page = page_with_room(spans);
	struct pattern *pattern;

	if (!page)
		return -ENOMEM;
	pattern = pattern_find(page, call->tid | (u64)call->pid << 32,
			       call_of(call->record->nr, KSPAN_SYSCALL));
	if (__builtin_expect(pattern_is_due(page, pattern), 0)) {
		struct kspan k = kspan_of_call(call);

		return kspans_add(spans, &k);
	}
	if (place_add(spans, page, call->begin_ns))
		return -ENOMEM;
	page->used = (size_t)(pack_call(page, pattern, call) - page->data);
	place_settle(spans);
	return 0;
}

/*
 * Sorts places of which few are out of order: takes those out, sorts them, and merges them with the
 * others from the back. `late` has room for all.
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
