/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/format.h"

#define FIRST_BYTES ((size_t)16 << 10)
#define FIRST_ENTRIES ((size_t)128)
#define STEPS_MAX                                                                                  \
	32 /* maximum of places that a record moves back; beyond it, everything is sorted once     \
	      later */

struct shape {
	u16 fixed;    /* bytes of the struct without its text */
	u16 text_max; /* 0: no text */
};

/* By kind. The structs are packed; a text is the last field, and its length precedes it. */
#define NONE FORMAT_NOTHING
#define INT_BYTES(type, name, what) +sizeof(type)
#define PAD_BYTES(type, name) +sizeof(type)
#define FILE_BYTES(name, what) +sizeof(struct file_ref)
#define CTX_BYTES(name, what) +sizeof(struct context)
#define LEN_BYTES(size, name, what) +sizeof(u16)
#define TEXT_MAX(size, name, what) +size
#define TEXT_OF(kind) (0 RECORD_APPLY(kind, NONE, NONE, NONE, NONE, NONE, TEXT_MAX))
#define BEFORE_TEXT(kind)                                                                          \
	(sizeof(struct record_head) RECORD_APPLY(kind, INT_BYTES, INT_BYTES, PAD_BYTES,            \
						 FILE_BYTES, CTX_BYTES, LEN_BYTES))

static const struct shape shapes[256] = {
#define K(kind, value, what)                                                                       \
	[value] = {TEXT_OF(kind) ? BEFORE_TEXT(kind) : sizeof(struct record_##kind), TEXT_OF(kind)},
	RECORD_KINDS(K)
#undef K
};

static int window_reserve(struct window *w, size_t bytes)
{
	if (w->used + bytes > w->capacity) {
		size_t capacity = w->capacity ? 2 * w->capacity : FIRST_BYTES;
		u8 *more = realloc(w->bytes, capacity);

		if (!more)
			return -ENOMEM;
		w->bytes = more;
		w->capacity = capacity;
	}
	if (w->count == w->entry_capacity) {
		size_t capacity = w->entry_capacity ? 2 * w->entry_capacity : FIRST_ENTRIES;
		struct window_entry *more = realloc(w->entries, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->entries = more;
		w->entry_capacity = capacity;
	}
	return 0;
}

/* Inline: most records are short, and a call costs more than the copy. */
static inline void copy_bytes(u8 *to, const u8 *from, size_t len)
{
	for (; len >= 32; to += 32, from += 32, len -= 32)
		memcpy(to, from, 32);
	for (; len >= 8; to += 8, from += 8, len -= 8)
		memcpy(to, from, 8);
	while (len--)
		*to++ = *from++;
}

static inline void zero_bytes(u8 *to, size_t len)
{
	for (; len >= 8; to += 8, len -= 8)
		memset(to, 0, 8);
	while (len--)
		*to++ = 0;
}

/* Copies a record and completes it. Returns its bytes. */
static inline size_t copy_whole(u8 *to, const struct record_head *record, struct shape shape,
				bool *cut)
{
	size_t there = record->slots ? (size_t)record->slots * RECORD_SLOT_BYTES
				     : (size_t)shape.fixed + shape.text_max;
	size_t text, room;

	if (there < shape.fixed) {
		copy_bytes(to, (const u8 *)record, there);
		zero_bytes(to + there, shape.fixed - there);
		return shape.fixed;
	}
	copy_bytes(to, (const u8 *)record, shape.fixed);
	if (!shape.text_max)
		return shape.fixed;
	text = load16(to + shape.fixed - 2);
	room = there - shape.fixed < shape.text_max ? there - shape.fixed : shape.text_max;
	if (text > room) {
		*cut = true;
		text = room;
		store16(to + shape.fixed - 2, (u16)text);
	}
	memcpy(to + shape.fixed, (const u8 *)record + shape.fixed, text);
	return shape.fixed + text;
}

/* Moves the newest entry back to its place if it is older than the one before it. */
static void entry_settle(struct window *w, size_t at)
{
	size_t end = at - w->first > STEPS_MAX ? at - STEPS_MAX : w->first;
	struct window_entry entry = w->entries[at];

	if (w->unsorted)
		return;
	if (end > w->first && w->entries[end - 1].time_ns > entry.time_ns) {
		w->unsorted = true;
		return;
	}
	for (; at > end && w->entries[at - 1].time_ns > entry.time_ns; at--)
		w->entries[at] = w->entries[at - 1];
	w->entries[at] = entry;
}

int window_add(struct window *w, const struct record_head *record, bool *cut)
{
	struct shape shape = shapes[record->kind];
	struct window_entry entry = {record->time_ns, w->used};
	size_t at;
	int err;

	if (shape.fixed == 0)
		return -EINVAL;
	err = window_reserve(w, (size_t)shape.fixed + shape.text_max + 8);
	if (err)
		return err;
	w->used += (copy_whole(w->bytes + w->used, record, shape, cut) + 7) & ~(size_t)7;
	at = w->count++;
	w->entries[at] = entry;
	if (__builtin_expect(at > w->first && w->entries[at - 1].time_ns > entry.time_ns, 0))
		entry_settle(w, at);
	return 0;
}

/* The bytes are in order of arrival. */
static int entry_compare(const void *a, const void *b)
{
	const struct window_entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void window_sort(struct window *w)
{
	if (!w->unsorted)
		return;
	qsort(w->entries + w->first, w->count - w->first, sizeof(*w->entries), entry_compare);
	w->unsorted = false;
}

/* Moves the waiting records to the front if that frees at least half. */
void window_trim(struct window *w)
{
	size_t count = w->count - w->first, used = 0;
	u8 *bytes;

	if (count == 0) {
		w->first = w->count = w->used = 0;
		return;
	}
	if (w->first < count || w->used < FIRST_BYTES)
		return;
	if (w->spare_capacity < w->capacity) {
		bytes = realloc(w->spare, w->capacity);
		if (!bytes)
			return; /* it stays unchanged, only larger than necessary */
		w->spare = bytes;
		w->spare_capacity = w->capacity;
	}
	bytes = w->spare;
	for (size_t i = 0; i < count; i++) {
		const u8 *from = w->bytes + w->entries[w->first + i].at;
		struct shape shape = shapes[((const struct record_head *)from)->kind];
		size_t len = shape.fixed + (shape.text_max ? load16(from + shape.fixed - 2) : 0u);

		copy_bytes(bytes + used, from, len);
		w->entries[i] = (struct window_entry){w->entries[w->first + i].time_ns, used};
		used += (len + 7) & ~(size_t)7;
	}
	w->spare = w->bytes;
	w->spare_capacity = w->capacity;
	w->bytes = bytes;
	w->used = used;
	w->first = 0;
	w->count = count;
}

void window_free(struct window *w)
{
	free(w->bytes);
	free(w->spare);
	free(w->entries);
	*w = (struct window){0};
}
