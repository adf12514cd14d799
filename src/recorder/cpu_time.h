/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of another process. */
#ifndef RECORDER_CPU_TIME_H
#define RECORDER_CPU_TIME_H

#include <sys/types.h>

#include "record/record.h"

/*
 * The CPU time of a process and of its children that it has waited for, in nanoseconds. The kernel
 * tells it in ticks, of 10 ms as a rule. 0 if the process is gone or may not be looked at.
 * Thread-safe.
 */
u64 process_cpu_ns(pid_t pid);

#endif
