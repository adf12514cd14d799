/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Records that an iterator makes, for capture, which reads it. */
#ifndef BPF_ITERATOR_H
#define BPF_ITERATOR_H

#include "bpf/ring.h"

/*
 * Hands over a record of `len` bytes, which must be readable up to the end of its last
 * slot; `room` is a constant, how much is readable at all. Not 0: there is no room in the
 * reader's buffer. Then the kernel forgets what this run wrote and runs the program again.
 */
static __always_inline long iterator_write(struct seq_file *seq, struct record_head *head, u64 len,
					   u64 room)
{
	u64 bytes = (len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES * RECORD_SLOT_BYTES;

	head->slots = bytes / RECORD_SLOT_BYTES;
	head->cpu = bpf_get_smp_processor_id();
	head->time_ns = bpf_ktime_get_ns();
	BOUND(bytes, 8191);
	if (bytes > room)
		return -1;
	return bpf_seq_write(seq, head, bytes);
}

#endif
