/* SPDX-License-Identifier: Apache-2.0 */
/* How long something takes, to be compared with how long something else takes. */
#ifndef TESTS_MAP_CPU_TIME_H
#define TESTS_MAP_CPU_TIME_H

#include <time.h>

static inline double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
