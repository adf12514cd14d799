// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The rare part of the producer's side of the rings: see ring.h. */
#include "bpf/ring.h"
#include "bpf/license.h"

#define RING_TRIES 3

/* Wakes capture, since another part of a ring is filled. */
__noinline int ring_wake_part(void)
{
	ring_wake();
	return 0;
}

/* Reserves `n` slots, where an interrupt has just reserved others. Their position, or RING_NONE. */
__noinline u64 ring_try_again(u32 n)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct ring_control *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!ring)
		return RING_NONE;
	for (int i = 0; i < RING_TRIES; i++) {
		u64 head = *(volatile u64 *)&ring->head;

		if (ring_is_full(ring, head, n))
			break;
		if (__sync_val_compare_and_swap(&ring->head, head, head + n) != head)
			continue;
		if ((head ^ (head + n)) & ring_part)
			ring_wake();
		return head;
	}
	return RING_NONE;
}
