/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an operation got slow: of its spans of the last ten seconds, at least SLOWNESS_SEEN, more
 * than a twentieth were slow. Told once in SLOWNESS_REST_NS.
 */
#ifndef UP_SLOWNESS_H
#define UP_SLOWNESS_H

#include <stdbool.h>
#include <stdint.h>

#define SLOWNESS_HALF_NS 5000000000u
#define SLOWNESS_SEEN 20u
#define SLOWNESS_SHARE 20u /* one part in so many */
#define SLOWNESS_REST_NS UINT64_C(300000000000)

/* Starts with all zero. */
struct slowness {
	uint64_t half; /* number of the half of ten seconds that is counted now */
	uint32_t seen[2], slow[2];
	uint64_t told_ns;
};

/* Counts a span, as so many. True: the operation got slow. */
static inline bool slowness_add(struct slowness *s, bool is_slow, uint32_t times, uint64_t now_ns)
{
	uint64_t half = now_ns / SLOWNESS_HALF_NS;
	unsigned int at = half & 1;

	if (half != s->half) {
		s->seen[at] = s->slow[at] = 0;
		if (half != s->half + 1)
			s->seen[!at] = s->slow[!at] = 0;
		s->half = half;
	}
	s->seen[at] += times;
	s->slow[at] += is_slow ? times : 0;
	if (s->seen[0] + s->seen[1] < SLOWNESS_SEEN ||
	    (uint64_t)(s->slow[0] + s->slow[1]) * SLOWNESS_SHARE <= s->seen[0] + s->seen[1])
		return false;
	if (s->told_ns && now_ns - s->told_ns < SLOWNESS_REST_NS)
		return false;
	s->told_ns = now_ns;
	return true;
}

#endif
