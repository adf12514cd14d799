/* SPDX-License-Identifier: Apache-2.0 */
/* The memfd of the ring: makes, maps and removes it. Internal to src/lib. */
#ifndef LIB_RING_FILE_H
#define LIB_RING_FILE_H

#include <stdbool.h>

#include "lib/app_ring.h"

/*
 * Makes the ring of this process, and maps its header. If that fails, returns memory that stands
 * for a ring to which nobody listens; NULL if there is no memory.
 */
struct app_ring *fathom_ring_create(void);

/*
 * Returns a lane of the ring, NULL if it is not mapped yet. A lane is mapped when a thread first
 * needs it, and stays mapped: the whole ring would count against limits of address space and of
 * locked memory.
 */
struct app_lane *fathom_ring_lane(u32 i);

/*
 * Returns a lane, and maps it if necessary. Only for the thread that has the lane. NULL if it
 * cannot be mapped. If the caller then finds fathom_process.disabled set, it does not use the lane,
 * which stays mapped.
 */
struct app_lane *fathom_ring_lane_map(struct app_ring *ring, u32 i);

/* Whether that is the inode of our ring. */
bool fathom_ring_is(u64 inode);

/* Whether there is a ring that others can find. */
bool fathom_ring_is_shared(void);

/* Closes the file, in a forked child the parent's. The mapping stays. */
void fathom_ring_close(void);

/*
 * Ends the ring for good: nobody in this process can write to it any more, and its reader is told
 * so. With `others`, other threads may be writing: then the header and the lanes in use are
 * replaced by private memory. No thread begins to use another lane, since fathom_process.disabled
 * is set.
 */
void fathom_ring_stop(struct app_ring *ring, bool others);

#endif
