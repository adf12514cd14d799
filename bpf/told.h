/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What nothing else tells than its first use: the names of wakers out of scope, and files that
 * only a slot of an io_uring holds. Each chunk is told again, so that none needs those before
 * it; what was told between the raising of the generation and the cut, the base keeps.
 */
#ifndef BPF_TOLD_H
#define BPF_TOLD_H

#include "bpf/kernel.h"

#define TOLD_MAX 4096 /* of a kind; who is not used for long is thrown out, and told again */

/* Set while they run: raised by capture at each cut, and in a flight recorder in between. */
u32 told_generation __weak = 0;

struct told {
	u64 identity; /* whose it was: numbers and addresses are used again */
	u32 generation;
	u32 missed; /* uses since there was no room to tell it; 0: it was told */
};

#define TOLD_USES 256 /* after so many it is tried again: a full ring stays full for a while */

/* By tid, as the kernel numbers it; the identity is the start time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, u32);
	__type(value, struct told);
} told_wakers SEC(".maps") __weak;

/* Read once, before the record's clock: a generation that is raised later is told again. */
static __always_inline struct told told_now(u64 identity)
{
	return (struct told){.identity = identity, .generation = *(volatile u32 *)&told_generation};
}

static __always_inline bool told_same(const struct told *told, const struct told *now)
{
	return told && told->identity == now->identity && told->generation == now->generation;
}

/*
 * Whether it is to be told at this use; `told` is what the map has, or NULL. Of those that are
 * told_same() by then the loss was counted already: once in a generation, however often it is
 * tried.
 */
static __always_inline bool told_is_due(struct told *told, const struct told *now)
{
	if (!told_same(told, now))
		return true;
	return told->missed && ++told->missed % TOLD_USES == 0;
}

#endif
