/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle time: waits for work outside of spans (model/work.h). No partial has it before its end: a
 * wait keeps its cause, and sums have beside their parts how much of them waits for work under no
 * context. When everything is together, that becomes idle time, except
 * - where records of the application say that a span had the thread, or may have had it;
 * - where it is a wait for a futex that turns out to be a lock.
 */
#ifndef MAP_IDLE_H
#define MAP_IDLE_H

#include "map/futex.h"
#include "model/life.h"

struct partial;
struct kspan;

/* Before lives are joined across gaps: leaves out time in which a span may have had the thread. 0
 * or -ENOMEM. */
int idle_doubt(struct partial *p);

/* Makes waits for work idle time, in lives and sums. 0 or -ENOMEM. */
int idle_apply(struct partial *p);

/* The split of a kernel span of a finished partial, with its idle time. */
struct split idle_split(const struct partial *p, const struct kspan *k);

/* Whether a wait is idle time. Of a finished partial. */
bool idle_is_wait(const struct partial *p, const struct kspan *k);

/* Why a wait that waits for work does; static. */
const char *idle_reason(const struct kspan *k);

/* All time of that part, as time that waits for work. */
static inline struct work_split idle_of_wait(u8 part, const struct split *split)
{
	struct work_split idle = {0};

	if (work_is_part(part))
		idle.ns[part - WORK_FIRST_PART] = split->ns[part];
	return idle;
}

#endif
