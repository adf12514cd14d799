/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of processes by their names, as /proc has them now. Not thread-safe. */
#ifndef UP_TASK_NAMES_H
#define UP_TASK_NAMES_H

#include "base/map.h"
#include "record/record.h"

/* Starts with all zero. */
struct task_names {
	struct map processes; /* pid -> struct task_process */
};

/*
 * The only thread of the process whose name is the first 15 bytes of that; 0: none, or several. A
 * process is read again after a second, if a name is not found.
 */
u32 task_by_name(struct task_names *names, u32 pid, const char *name);

/* Whether the process has the thread now. */
bool task_is_of(u32 pid, u32 tid);

void task_names_free(struct task_names *names);

#endif
