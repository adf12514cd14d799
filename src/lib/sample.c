/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: decides which root spans are recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lib/process.h"
#include "lib/thread.h"

#define SAMPLE_TRIES 8
#define COARSE_TICK_NS 10000000ull /* at most: 100 ticks a second */

/*
 * Takes one of each n roots of a thread, at a random place among them. So the number is exact, and
 * patterns in the order of requests do not matter.
 */
static u8 sample_one_in(struct fathom_thread *t, u32 n)
{
	u32 left = t->sample_left;

	if (left == 0 || left > n) {
		left = n;
		t->sample_pick = (u32)(((thread_id_next(t) >> 32) * n) >> 32);
	}
	t->sample_left = left - 1;
	return left - 1 == t->sample_pick ? FATHOM_SAMPLED : 0;
}

/*
 * Takes at most n roots in any second, one in each n-th of a second, as the generic cell rate
 * algorithm (ITU-T I.371) paces cells. The coarse clock stands still for a tick. So roots of one
 * tick may be made up for at once, and the interval is longer by two ticks of a second: for that,
 * and for the place at which a second begins on the coarse clock.
 */
static u8 sample_rate(u32 n)
{
	u64 *word = &fathom_process.sampled;
	u64 next = __atomic_load_n(word, __ATOMIC_RELAXED);
	u64 interval = (1000000000 + 2 * COARSE_TICK_NS + n - 1) / n;
	u64 now = clock_read_ns(CLOCK_MONOTONIC_COARSE);

	for (int i = 0; i < SAMPLE_TRIES; i++) {
		if (next > now + COARSE_TICK_NS)
			return 0;
		if (__atomic_compare_exchange_n(word, &next, (next > now ? next : now) + interval,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return FATHOM_SAMPLED;
	}
	return 0; /* other threads took the places */
}

u8 fathom_sample(struct fathom_thread *t)
{
	u64 policy = __atomic_load_n(&fathom_process.sampling, __ATOMIC_RELAXED);
	u32 n = (u32)policy;

	switch ((enum sample_mode)(policy >> 32)) {
	case SAMPLE_ALWAYS:
		return FATHOM_SAMPLED;
	case SAMPLE_NEVER:
		return 0;
	case SAMPLE_ONE_IN:
		return sample_one_in(t, n);
	case SAMPLE_RATE:
		return sample_rate(n);
	}
	return 0;
}

/* Parses a decimal number from 1 to 2^32 - 1. *end gets the place behind it. */
static bool number_parse(const char *text, u32 *out, const char **end)
{
	u64 value = 0;

	for (; *text >= '0' && *text <= '9' && value < UINT32_MAX; text++)
		value = value * 10 + (u64)(*text - '0');
	*end = text;
	*out = (u32)value;
	return value > 0 && value <= UINT32_MAX;
}

int fathom_sampling_apply(const char *policy)
{
	enum sample_mode mode;
	const char *end;
	u32 n = 0;

	if (!policy)
		return -EINVAL;
	if (strcmp(policy, "always") == 0)
		mode = SAMPLE_ALWAYS;
	else if (strcmp(policy, "never") == 0)
		mode = SAMPLE_NEVER;
	else if (strncmp(policy, "1/", 2) == 0 && number_parse(policy + 2, &n, &end) && !*end)
		mode = SAMPLE_ONE_IN;
	else if (number_parse(policy, &n, &end) && strcmp(end, "/s") == 0)
		mode = SAMPLE_RATE;
	else
		return -EINVAL;
	__atomic_store_n(&fathom_process.sampling, (u64)mode << 32 | n, __ATOMIC_RELAXED);
	return 0;
}
