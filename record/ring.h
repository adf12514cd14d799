/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The ring of slots between a producer and capture.
 *
 * A ring is 2^n slots of 64 bytes and two counters, both of which only grow:
 * head counts the slots ever reserved, tail the slots ever consumed. The slot
 * of position p is slots[p & (2^n - 1)].
 *
 * Producer: h = head; give up (and count) if h + n - tail > size; take the
 * slots by compare-and-swap of head from h to h + n; read the clock; fill the
 * record; store (u32)(h + 1) to the `seq` of its first slot last, with release
 * order. The clock is read after the reservation: whatever is older than a
 * cut is published or visibly reserved when head is read after the cut.
 *
 * Consumer: at position p, the record is there when the first slot's seq is
 * (u32)(p + 1) (acquire); its `slots` says where the next begins. A slot that
 * is reserved and not yet published stops the consumer: a producer can be
 * preempted in the middle. After copying, tail is stored (release).
 *
 * Waking: a kernel program whose reservation moves head across a half of the ring wakes the
 * consumer, before its record is published. If the consumer finds a record that is not published
 * yet, it looks again soon.
 *
 * Flight recorder: the producer ignores tail. The consumer copies a record, and
 * accepts it only if its seq is unchanged afterwards and head has not overtaken
 * it.
 *
 * Kernel rings: one array map `slots` of (possible CPUs << n) elements, in which ring c
 * begins at c << n; one array map `rings` of struct ring_control per CPU, and one
 * `losses` of struct ring_losses. Capture maps all of them. The programs of one CPU share its
 * ring; interrupts nest, which the compare-and-swap allows.
 */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include "record.h"

struct ring_slot {
	u8 bytes[RECORD_SLOT_BYTES];
} __attribute__((aligned(8)));

struct ring_control {
	/* written by the producer */
	u64 head;
	u64 lost[6];	/* lost records; only RING_LOST_OTHER is used, and only by applications */
	u64 incomplete; /* fields that could not be read */
	/* written by the consumer, on a cache line of its own */
	u64 tail;
	/* of a CPU: since when ends of page faults are seen there; the kernel marks changes here */
	u64 fault_ends_ns;
	u64 reserved[6];
} __attribute__((aligned(8)));

#define RING_LOST_OTHER 5 /* index in lost[] */
/* fault_ends_ns: they are not seen; not seen, and the consumer must check whether they can be */
#define FAULT_ENDS_NONE (~0ull - 1)
#define FAULT_ENDS_CHANGED ~0ull

/*
 * The losses of a CPU, in a map of its own beside `rings`. A producer counts in `all` first. So a
 * reader that finds `all` unchanged need not look at `kinds`. A loss that is in `all` and not yet
 * in `kinds` is found at the next look.
 */
#define RING_KINDS 64 /* by enum record_kind; 0: kind unknown */
struct ring_losses {
	u64 all;
	u64 kinds[RING_KINDS];
	u64 reserved[7]; /* so that CPUs share no cache line */
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct ring_slot) == 64, "slot");
_Static_assert(sizeof(struct ring_control) == 128, "control");
_Static_assert(sizeof(struct ring_losses) == 576 && RECORD_KIND_MAX < RING_KINDS, "losses");

#endif
