// SPDX-License-Identifier: Apache-2.0
/*
 * Reads rings that overwrite their oldest records, while programs go on writing.
 *
 * It is not known where the oldest record begins. The walk takes the first slot whose sequence
 * number fits its position. A record is copied, and the copy counts only if the number is unchanged
 * afterwards and the head has not come around to the slot.
 */
#include <errno.h>
#include <string.h>

#include "capture/deliver.h"
#include "capture/rings.h"

#define FLIGHT_SLOTS_MAX 3 /* the longest record in the ring of a CPU */

/* Copies the record at a position. Returns its number of slots, 0 if there is none. */
static u32 flight_copy(const struct capture_ring *ring, u64 position, u32 bits, u8 *to)
{
	const u8 *slot = ring->slots + (position & ((1ull << bits) - 1)) * RECORD_SLOT_BYTES;
	const struct record_head *r = (const void *)slot;
	u32 n;

	if (__atomic_load_n(&r->seq, __ATOMIC_ACQUIRE) != (u32)(position + 1))
		return 0;
	n = r->slots;
	if (n == 0 || n > FLIGHT_SLOTS_MAX)
		return 0;
	memcpy(to, slot, n * RECORD_SLOT_BYTES);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&r->seq, __ATOMIC_RELAXED) != (u32)(position + 1) ||
	    rings_head(ring) - position > 1ull << bits)
		return 0;
	return n;
}

/*
 * Hands over the records of one ring, from the oldest on. *from_ns gets the time of the first
 * record behind the last hole, 0 if nothing was ever overwritten.
 */
static int flight_ring(struct capture_delivery *to, u32 cpu, u64 until_ns, u64 *from_ns)
{
	const struct capture *c = to->c;
	const struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	u64 head = rings_head(ring), size = 1ull << c->ring_bits;
	bool hole = head > size;
	union {
		struct record_head head;
		u8 slots[FLIGHT_SLOTS_MAX * RECORD_SLOT_BYTES];
	} copy;
	int err = 0;

	*from_ns = hole ? until_ns : 0; /* in case no record follows the hole */
	for (u64 at = head > size ? head - size : 0; at < head && !err;) {
		u32 n = flight_copy(ring, at, c->ring_bits, copy.slots);

		if (!n && rings_head(ring) - at > size)
			hole = true; /* the slot was overwritten while it was read */
		at += n ? n : 1;
		if (!n || !copy.head.kind || copy.head.kind > RECORD_KIND_MAX ||
		    copy.head.time_ns > until_ns)
			continue;
		if (hole)
			*from_ns = copy.head.time_ns;
		hole = false;
		err = capture_deliver(to, &stream, &copy.head);
	}
	return err;
}

int capture_flight(struct capture *c, const struct capture_sink *sink, u64 *cut_ns)
{
	int err = c->flight ? capture_cut(c, sink, cut_ns) : -EINVAL;
	struct capture_delivery to;

	capture_delivery_make(&to, c, sink);
	c->flight_from_ns = 0;
	for (u32 cpu = 0; cpu < c->ring_count && err >= 0; cpu++) {
		u64 from_ns;
		int ring = flight_ring(&to, cpu, *cut_ns, &from_ns);

		if (from_ns > c->flight_from_ns)
			c->flight_from_ns = from_ns;
		err = ring < 0 ? ring : err;
	}
	return err;
}

u64 capture_flight_from(const struct capture *c)
{
	return c->flight_from_ns;
}
