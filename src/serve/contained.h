/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of this host by the numbers that they have in their containers. For one thread. */
#ifndef SERVE_CONTAINED_H
#define SERVE_CONTAINED_H

#include <stdint.h>

#include "base/vec.h"

#define CONTAINED_DIGITS 64
#define CONTAINED_DIGITS_MIN 12 /* of the id of a container: its host name, by default */

struct contained_process {
	char id[CONTAINED_DIGITS + 1];
	uint32_t number, pid; /* in the container, on the host */
};

/* Begin with all zero. */
struct contained {
	VEC(struct contained_process) list;
	uint64_t read_ns; /* when the processes were looked at last */
};

/*
 * The process that has the number in a container, of whose id the first digits are enough; 0: none
 * is there. Looks at all processes of the host, some microseconds each, once in five seconds at
 * most, and only if it knows none.
 */
uint32_t contained_find(struct contained *c, const char *id, uint32_t number);

/* The number that a process has in its own pid namespace; that of the host if it cannot be read. */
uint32_t contained_number(uint32_t pid);

void contained_free(struct contained *c);

#endif
