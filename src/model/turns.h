/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who had a CPU before a switch on it, one thread after the other. The thread that gets the CPU may
 * have waited for several of them. Its wait is shared by these turns.
 *
 * A life is fed a copy of the switch, which has the turns in place of what the record says about
 * the thread that left: that is of no account for the one that got the CPU. So a life that is not
 * settled keeps them with the record.
 */
#ifndef MODEL_TURNS_H
#define MODEL_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "record/record.h"

#define TURNS_MAX 7

struct turn {
	u32 tid;    /* 0: the CPU was idle */
	u32 ago_ns; /* it began so long before the switch, or TURN_*; 0: there is no such turn */
};
#define TURN_OPEN (~(u32)0)	  /* before all that was seen of the CPU */
#define TURN_LONG (TURN_OPEN - 1) /* so long ago, or longer */

struct turns {
	struct turn list[TURNS_MAX]; /* the last one first */
};

#define TURNS_TOLD 0xfffe /* record_switch.nr of such a copy */

_Static_assert(sizeof(struct record_switch) - offsetof(struct record_switch, since_ns) >=
		       sizeof(struct turns),
	       "the turns fit into the record");

static inline void *turns_place(const struct record_switch *enters)
{
	return (char *)enters + offsetof(struct record_switch, since_ns);
}

static inline void turns_put(struct record_switch *enters, const struct turns *turns)
{
	enters->nr = TURNS_TOLD;
	memcpy(turns_place(enters), turns, sizeof(*turns));
}

/* Whether the record has turns; else there are none. */
static inline bool turns_get(const struct record_switch *enters, struct turns *turns)
{
	*turns = (struct turns){0};
	if (enters->nr != TURNS_TOLD)
		return false;
	memcpy(turns, turns_place(enters), sizeof(*turns));
	return true;
}

static inline u32 turn_ago(u64 now_ns, u64 since_ns)
{
	u64 ago_ns = now_ns > since_ns ? now_ns - since_ns : 1;

	if (!since_ns)
		return TURN_OPEN;
	return ago_ns < TURN_LONG ? (u32)ago_ns : TURN_LONG;
}

/* What a thread had of a wait for the CPU. */
struct turn_share {
	u32 tid;
	u64 ns;
};

/*
 * Shares the ns nanoseconds before the switch. Returns how many threads have a share; what is left
 * was before all turns that are known.
 */
size_t turns_share(const struct turns *turns, u64 ns, struct turn_share shares[TURNS_MAX]);

#endif
