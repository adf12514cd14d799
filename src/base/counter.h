/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor's counter (x86: rdtsc). A program takes timestamps from it if the kernel derives
 * CLOCK_MONOTONIC from the same counter, which takes 10 ns instead of 23. The reader of the
 * timestamps converts them to times, by pairs of both clocks (capture/app/counter_clock.h).
 */
#ifndef BASE_COUNTER_H
#define BASE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the counter. The reads of one thread never go back; other memory accesses are not ordered
 * with them. */
static inline uint64_t counter_read(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/*
 * Whether the kernel's clock uses the counter at this moment, so that the counter is the same and
 * steady on all CPUs. Thread-safe.
 */
bool counter_is_clock(void);

#endif
