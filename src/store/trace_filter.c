/* SPDX-License-Identifier: Apache-2.0 */
#include "store/trace_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define HASHES 4
#define BITS_LEAST 10
#define BITS_PER_TRACE 16

static size_t words_of(unsigned int bits)
{
	return (size_t)1 << (bits - 6);
}

int trace_filter_begin(struct trace_filter *f)
{
	uint64_t *words = calloc(words_of(TRACE_FILTER_BITS), sizeof(*words));

	if (!words)
		return -ENOMEM;
	*f = (struct trace_filter){words, TRACE_FILTER_BITS, 0};
	return 0;
}

/* The place of the i-th bit. Folding keeps its lower bits. */
static uint64_t place_of(const struct trace_filter *f, struct trace_id trace, unsigned int i)
{
	uint64_t hash = hash_pair(trace.high, trace.low);

	return (hash + i * (hash >> 32 | 1)) & (((uint64_t)1 << f->bits) - 1);
}

void trace_filter_add(struct trace_filter *f, struct trace_id trace)
{
	bool is_new = false;

	for (unsigned int i = 0; i < HASHES && f->words; i++) {
		uint64_t place = place_of(f, trace, i), bit = (uint64_t)1 << place % 64;

		if (__atomic_load_n(&f->words[place / 64], __ATOMIC_RELAXED) & bit)
			continue;
		__atomic_fetch_or(&f->words[place / 64], bit, __ATOMIC_RELAXED);
		is_new = true;
	}
	f->traces += is_new;
}

bool trace_filter_may_have(const struct trace_filter *f, struct trace_id trace)
{
	for (unsigned int i = 0; i < HASHES && f->words; i++) {
		uint64_t place = place_of(f, trace, i), bit = (uint64_t)1 << place % 64;

		if (!(__atomic_load_n(&f->words[place / 64], __ATOMIC_RELAXED) & bit))
			return false;
	}
	return true;
}

int trace_filter_copy(struct trace_filter *to, const struct trace_filter *from)
{
	struct trace_filter copy = *from;

	if (from->words) {
		copy.words = malloc(words_of(from->bits) * sizeof(*copy.words));
		if (!copy.words)
			return -ENOMEM;
		memcpy(copy.words, from->words, words_of(from->bits) * sizeof(*copy.words));
	}
	*to = copy;
	return 0;
}

void trace_filter_fold(struct trace_filter *f)
{
	uint64_t *less;

	while (f->words && f->bits > BITS_LEAST &&
	       f->traces * BITS_PER_TRACE <= (uint64_t)1 << (f->bits - 1)) {
		f->bits--;
		for (size_t i = 0; i < words_of(f->bits); i++)
			f->words[i] |= f->words[i + words_of(f->bits)];
	}
	less = f->words ? realloc(f->words, words_of(f->bits) * sizeof(*less)) : NULL;
	if (less)
		f->words = less;
}

void trace_filter_put(struct bytes *to, const struct trace_filter *f)
{
	if (f->words)
		bytes_put(to, f->words, words_of(f->bits) * sizeof(*f->words));
}

int trace_filter_get(struct trace_filter *f, const void *data, size_t bytes)
{
	unsigned int bits = BITS_LEAST;

	while (bits < TRACE_FILTER_BITS && words_of(bits) * sizeof(*f->words) < bytes)
		bits++;
	if (words_of(bits) * sizeof(*f->words) != bytes)
		return -EINVAL;
	f->words = malloc(bytes);
	if (!f->words)
		return -ENOMEM;
	memcpy(f->words, data, bytes);
	f->bits = bits;
	return 0;
}

void trace_filter_free(struct trace_filter *f)
{
	free(f->words);
	*f = (struct trace_filter){0};
}
