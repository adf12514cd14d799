/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread had which CPU when, as whoever runs the server reads it from a recording. */
#ifndef SERVE_CPU_RUNS_H
#define SERVE_CPU_RUNS_H

#include <stdint.h>

#include "base/vec.h"

/* A thread had a CPU; or several had it, one after the other, too shortly to be told apart. */
struct cpu_run {
	uint64_t begin_ns, end_ns; /* since 1970 */
	uint64_t busy_ns;	   /* of that time: some thread had it */
	uint32_t cpu;
	uint32_t runs;	 /* how many are in it */
	uint32_t thread; /* its number: of the one that had it for the longest */
};

#define CPU_THREAD_NAME_BYTES 16

struct cpu_thread {
	uint32_t pid, tid;
	char name[CPU_THREAD_NAME_BYTES]; /* as it is now; "": it is gone */
};

struct cpu_runs {
	VEC(struct cpu_run) list; /* of each CPU in the order of time */
	VEC(struct cpu_thread) threads;
	char host[256];
};

struct cpu_runs_query {
	uint64_t from_ns, to_ns; /* since 1970 */
	uint64_t least_ns;	 /* shorter runs are joined with those that follow */
};

#endif
