// SPDX-License-Identifier: Apache-2.0
#include "capture/app/counter_clock.h"

#include "base/counter.h"
#include "base/host_clock.h"

#define APART_NS 500000ull /* pairs that are closer give no rate: their own errors prevail */
#define TRIES 4
#define FAR_NS 1e18

/* Takes the best of a few pairs, since an interrupt may come between the two readings of one. */
void counter_clock_look(struct counter_clock *clock)
{
	struct counter_pair best = {0};
	u64 best_took = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		u64 before = counter_read(), ns = host_clock_now_ns();
		u64 took = counter_read() - before;

		if (took < best_took) {
			best = (struct counter_pair){before + took / 2, ns};
			best_took = took;
		}
	}
	counter_clock_add(clock, best);
}

/*
 * Keeps pairs that are farther apart than a third of their age, about 80 of a day. Afterwards there
 * is room for one more in any case.
 */
static void pairs_thin(struct counter_clock *clock)
{
	struct counter_pair *pairs = clock->pairs, last = pairs[clock->count - 1];
	size_t kept = 1;

	for (size_t i = 1; i + 1 < clock->count; i++) {
		if (pairs[i + 1].ns - pairs[kept - 1].ns >= (last.ns - pairs[i].ns) / 3)
			pairs[kept++] = pairs[i];
	}
	pairs[kept++] = last;
	clock->count = kept < COUNTER_PAIRS ? kept : COUNTER_PAIRS - 1;
}

void counter_clock_add(struct counter_clock *clock, struct counter_pair pair)
{
	struct counter_pair *last = clock->count ? &clock->pairs[clock->count - 1] : NULL;

	if (last && pair.ns <= last->ns)
		return;
	if (last && pair.counter <= last->counter) {
		clock->count = 0;
		last = NULL;
	}
	if (clock->count > 1 && last->ns - last[-1].ns < APART_NS) {
		*last = pair;
		return;
	}
	if (clock->count == COUNTER_PAIRS)
		pairs_thin(clock);
	clock->pairs[clock->count++] = pair;
}

bool counter_clock_is_ready(const struct counter_clock *clock)
{
	return clock->count && clock->pairs[clock->count - 1].ns - clock->pairs[0].ns >= APART_NS;
}

/*
 * The pair before the counter, or the first pair if there is none. Never the last pair, since the
 * rate is that up to the pair behind.
 */
static const struct counter_pair *pair_before(const struct counter_clock *clock, u64 counter)
{
	size_t low = 0, high = clock->count - 2;

	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (clock->pairs[middle].counter <= counter)
			low = middle;
		else
			high = middle - 1;
	}
	return &clock->pairs[low];
}

u64 counter_clock_ns(const struct counter_clock *clock, u64 counter)
{
	const struct counter_pair *from, *to;
	double rate, ns;

	if (!counter_clock_is_ready(clock))
		return 0;
	from = pair_before(clock, counter);
	to = from +
	     1; /* the last may be close to the one before: then the rate is that from before */
	if (to->ns - from->ns < APART_NS && from != clock->pairs)
		from--;
	rate = (double)(to->ns - from->ns) / (double)(to->counter - from->counter);
	ns = rate * (double)(s64)(counter - from->counter);
	if (ns < -(double)from->ns)
		return 0;
	return ns < FAR_NS ? from->ns + (u64)(s64)ns : UINT64_MAX;
}
