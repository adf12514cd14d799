/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Names that only their first use tells: those of threads out of scope that wake one in scope or
 * have its CPU, of files that only a slot of an io_uring holds, and of descriptors where calls are
 * not recorded. They are told again in each chunk, so that no chunk needs an earlier one. Names
 * that are told between the raise of the generation and the cut are kept in the checkpoint.
 */
#ifndef BPF_TOLD_H
#define BPF_TOLD_H

#include "bpf/kernel.h"

#define TOLD_MAX 4096 /* of a kind; one that is not used for long is dropped, and told again */

/* Raised by capture at each cut, and in a flight recorder also in between. */
u32 told_generation __weak = 0;

struct told {
	u64 identity; /* tells apart users of one number or address, which is used again */
	u32 generation;
	u32 missed; /* uses since it had no room; 0: it was told */
};

#define TOLD_USES 256 /* after so many it is tried again: a full ring stays full for a while */

/* By tid, the kernel's number. The identity is the start time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TOLD_MAX);
	__type(key, u32);
	__type(value, struct told);
} told_outsiders SEC(".maps") __weak;

/* Reads the generation once, before the clock: after a later raise the name is told again. */
static __always_inline struct told told_now(u64 identity)
{
	return (struct told){.identity = identity, .generation = *(volatile u32 *)&told_generation};
}

static __always_inline bool told_same(const struct told *told, const struct told *now)
{
	return told && told->identity == now->identity && told->generation == now->generation;
}

/*
 * Whether the name is to be told at this use. `told` is the entry of the map, or NULL. If
 * told_same() holds, a loss of it was counted already: it is counted once in a generation, however
 * often it is tried.
 */
static __always_inline bool told_is_due(struct told *told, const struct told *now)
{
	if (!told_same(told, now))
		return true;
	return told->missed && ++told->missed % TOLD_USES == 0;
}

#endif
