/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a drain and a cut have in common: passes over one ring up to a position. Of the thread
 * that drains, alone; nothing outside capture includes it.
 */
#ifndef CAPTURE_DRAIN_H
#define CAPTURE_DRAIN_H

#include "capture/internal.h"

struct drain {
	const struct capture_sink *sink;
	u64 until_ns; /* later records are held back */
};

/* Positions up to which something is reserved now. */
u64 drain_ring_head(const struct capture_ring *ring);
unsigned long drain_rare_head(const struct capture *c);

/*
 * Hand over what lies before a head that was read after `now_ns`. 1: all of it; 0: a producer
 * has not published yet; negative: an errno, of the sink as well.
 */
int drain_ring(struct capture *c, u32 cpu, u64 head, u64 now_ns, const struct drain *d);
int drain_rare(struct capture *c, unsigned long head, u64 now_ns, const struct drain *d);

/* What was held back and is not later than `until_ns`. 0, or an errno of the sink. */
int drain_held(struct capture *c, const struct capture_sink *sink, u64 until_ns);

/* Tells the sink what did not fit since the last time; this poll began at polled_ns. */
int drain_tell_lost(struct capture *c, u32 cpu, u64 polled_ns, const struct capture_sink *sink);
/*
 * What was lost since it was read before a cut is counted behind that. Some of it may be of the
 * time before: that this is in doubt, too, a loss of the count 0 tells.
 */
int drain_tell_around(struct capture *c, u32 cpu, u64 cut_ns, const struct capture_sink *sink);

/* Lets the programs tell names anew (bpf/told.h); `now`: host_clock_now_ns(). */
void drain_tell_again(struct capture *c, u64 now);

#endif
