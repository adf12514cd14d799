/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process, read line by line from /proc/PID/maps.
 *
 * A process can have tens of thousands of them and chooses their names: the
 * walk keeps one line, and ends after CONTEXT_MAPS_MAX lines.
 */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTEXT_MAPS_MAX 262144

struct context_map {
	uint64_t start, end;
	uint64_t offset;       /* in the file */
	uint64_t inode;	       /* 0: no file */
	uint32_t major, minor; /* of the file's device */
	bool readable, executable, shared;
	const char *name; /* "" if it has none; newlines escaped as \012 */
};

/*
 * A thread of the process that still has what they share: memory, descriptors, namespaces. Of one
 * whose main thread has ended, /proc shows them under the others alone. `pid` itself if there is
 * none, or nobody may know.
 */
pid_t context_maps_thread(pid_t pid);

/*
 * Calls each(arg, map) for every mapping, in the order of their addresses,
 * until it returns other than 0; `map` and its name live for that call.
 * Returns that value, 0 at the end, or a negative errno (-ESRCH: no such
 * process, or one without memory of its own).
 */
int context_maps_walk(pid_t pid, int (*each)(void *arg, const struct context_map *map), void *arg);

/* Parses one line (which is changed); 0 or -EINVAL. */
int context_maps_parse(char *line, struct context_map *map);

/*
 * Reads len bytes at an address of a process: 0, -ESRCH, -EPERM, or -EFAULT if
 * not all of them could be read.
 */
int context_memory_read(pid_t pid, uint64_t address, void *to, size_t len);

#endif
