/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a time are read again, for which thread had which CPU. */
#ifndef UP_REREAD_CPUS_H
#define UP_REREAD_CPUS_H

#include "base/error.h"
#include "serve/cpu_runs.h"

/*
 * `dir` is a descriptor of the directory of `fathom up`, and `path` a path to it. A CPU that no
 * record tells of is not there; nor is a time in which records of a CPU are missing. 0; -ENOENT: no
 * chunk of that time is left; -E2BIG: there are too many; or another negative errno, with a cause.
 */
int reread_cpus(int dir, const char *path, const struct cpu_runs_query *query, struct cpu_runs *out,
		struct error *e);

#endif
