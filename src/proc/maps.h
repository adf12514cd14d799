/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of a process, read line by line from /proc/PID/maps.
 *
 * A process can have tens of thousands of mappings and chooses their names. The walk keeps only one
 * line in memory, and ends after CONTEXT_MAPS_MAX lines.
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
 * Finds a thread of the process that still has its memory, descriptors and namespaces. If the main
 * thread has ended, /proc shows these only under the other threads. Returns `pid` itself if no such
 * thread is found, or if we may not look.
 */
pid_t context_maps_thread(pid_t pid);

/*
 * Calls each(arg, map) for every mapping, in the order of addresses, until a call returns other
 * than 0. `map` and its name are valid during the call. Returns the value of the last call, 0 at
 * the end, or a negative errno: -ESRCH if there is no such process or it has no memory of its own;
 * -E2BIG after CONTEXT_MAPS_MAX lines.
 */
int context_maps_walk(pid_t pid, int (*each)(void *arg, const struct context_map *map), void *arg);

/* Parses one line, and changes it. 0 or -EINVAL. */
int context_maps_parse(char *line, struct context_map *map);

/* Reads len bytes at an address of a process. 0, -ESRCH, -EPERM, or -EFAULT if some are missing. */
int context_memory_read(pid_t pid, uint64_t address, void *to, size_t len);

#endif
