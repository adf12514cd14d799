/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's counter: what a program stamps with where the kernel makes CLOCK_MONOTONIC of the
 * same one (x86: rdtsc, in 10 instead of 23 ns). Whoever reads the stamps makes times of them, by
 * pairs of both (capture/counter_clock.h).
 */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* What it says now. Reads of one thread do not go back; it is not ordered with what else it does.
 */
static inline uint64_t counter_read(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/*
 * Whether the kernel's clock is made of it at this moment, so that it is the same and steady on all
 * CPUs. Threads may call it at once.
 */
bool counter_is_clock(void);

#endif
