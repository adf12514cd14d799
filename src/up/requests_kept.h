/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `map/requests`: which requests were decided in this boot, and what was learned of
 * services in any. What cannot be written is only missed after a restart, so writing reports no
 * errors.
 */
#ifndef UP_REQUESTS_KEPT_H
#define UP_REQUESTS_KEPT_H

#include "chunk/chunk.h"
#include "request/learned.h"

struct requests_kept {
	u64 decided_ns, undecided_ns; /* of struct decider; 0 after another boot */
	u64 learned_ns;		      /* requests that came before it are in `learned`; likewise */
	struct learned learned;
};

/*
 * Reads the file of a folder (-1: there is none) into `kept`, which is all zero. What is damaged or
 * missing leaves it so. 0 or -ENOMEM.
 */
int requests_kept_read(int dir, const char *boot_id, struct requests_kept *kept);

/* Replaces the file. Sorts what was learned. */
void requests_kept_write(int dir, const char *boot_id, struct requests_kept *kept);

#endif
