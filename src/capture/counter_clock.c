// SPDX-License-Identifier: Apache-2.0
#include "capture/counter_clock.h"

#include "base/counter.h"
#include "base/host_clock.h"

#define APART_NS                                                                                   \
	500000ull /* closer ones would tell less of the rate than of how they were taken           \
		   */
#define TRIES 4
#define FAR_NS 1e18

/* The best of a few: in the middle of one there may have been an interrupt. */
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

/* Of the older half each second one goes, but not the first. */
static void pairs_thin(struct counter_clock *clock)
{
	size_t kept = 0;

	for (size_t i = 0; i < clock->count; i++) {
		if (i >= COUNTER_PAIRS / 2 || i % 2 == 0)
			clock->pairs[kept++] = clock->pairs[i];
	}
	clock->count = kept;
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

/* The pair before it, or the first; not the last one, since time goes on to the one behind. */
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
	to = from + 1;
	if (to->ns - from->ns < APART_NS && from != clock->pairs)
		from--;
	rate = (double)(to->ns - from->ns) / (double)(to->counter - from->counter);
	ns = rate * (double)(s64)(counter - from->counter);
	if (ns < -(double)from->ns)
		return 0;
	return ns < FAR_NS ? from->ns + (u64)(s64)ns : UINT64_MAX;
}
