/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the kernel programs' rings: passes over one ring up to a position. For the
 * thread that drains alone. Nothing outside src/capture includes it.
 */
#ifndef CAPTURE_RINGS_H
#define CAPTURE_RINGS_H

#include "capture/deliver.h"
#include "capture/state.h"

struct drain {
	struct capture_delivery *to;
	u64 until_ns; /* later records are held back, in capture.held */
};

/* The position up to which slots, or bytes of the rare ring, are reserved now. */
u64 rings_head(const struct capture_ring *ring);
unsigned long rings_rare_head(const struct capture *c);

/*
 * Hand over what lies before a head that was read after `now_ns`. 1: all of it; 0: the pass ended
 * at a record that its producer has not published; negative: an errno, also one of the sink.
 */
int rings_drain_cpu(struct capture *c, u32 cpu, u64 head, u64 now_ns, const struct drain *d);
int rings_drain_rare(struct capture *c, unsigned long head, u64 now_ns, const struct drain *d);

/* Tells the sink what a ring lost since the last call. The current poll began at polled_ns. */
int rings_tell_lost(struct capture *c, u32 cpu, u64 polled_ns, const struct capture_sink *sink);
/*
 * Records that were lost around a cut are counted by the next call of rings_tell_lost(). Tells of
 * them with the count 0: some may be of the time before the cut.
 */
int rings_tell_around(struct capture *c, u32 cpu, u64 cut_ns, const struct capture_sink *sink);

#endif
