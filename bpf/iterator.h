/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Writes records from an iterator, which capture reads. */
#ifndef BPF_ITERATOR_H
#define BPF_ITERATOR_H

#include "bpf/ring.h"

/*
 * Writes a record of `len` bytes, which must be readable up to the end of its last slot. `room` is
 * a constant: how many bytes are readable. Not 0: the reader's buffer is full. Then the kernel
 * discards what this run wrote, and runs the program again.
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
