/* SPDX-License-Identifier: Apache-2.0 */
/* The memfd of the ring: how it comes and goes. Internal to src/lib. */
#ifndef LIB_RING_FILE_H
#define LIB_RING_FILE_H

#include <stdbool.h>

#include "lib/app_ring.h"

/*
 * Makes the ring of this process, and maps its header. Where that cannot be, memory that stands for
 * one to which nobody listens; NULL if there is none.
 */
struct app_ring *fathom_ring_create(void);

/*
 * A lane of the ring, which is mapped once a thread needs it and stays so: the whole ring would
 * count against limits of address space and of locked memory. NULL: nobody has needed it yet.
 */
struct app_lane *fathom_ring_lane(u32 i);

/*
 * The same, mapped if it is not. For the thread alone that has the lane. NULL if it cannot be
 * mapped. What a caller that then finds fathom_process.disabled set does not use, stays mapped.
 */
struct app_lane *fathom_ring_lane_map(struct app_ring *ring, u32 i);

/* Is that the inode of our ring? */
bool fathom_ring_is(u64 inode);

/* Is there a ring, which others can find? */
bool fathom_ring_is_shared(void);

/* Closes the file; the mapping stays. In a forked child: that of the parent. */
void fathom_ring_close(void);

/*
 * For good: nobody in this process can write to it any more, and its reader is told so. With
 * `others`, threads that may be at it, what they can touch stays as memory of our own: the header,
 * and the lanes that are in use. Nobody begins to use another: fathom_process.disabled is set.
 */
void fathom_ring_stop(struct app_ring *ring, bool others);

#endif
