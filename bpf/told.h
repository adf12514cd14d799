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
	u32 pad;
};

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

static __always_inline bool told_is(const struct told *told, const struct told *now)
{
	return told && told->identity == now->identity && told->generation == now->generation;
}

#endif
