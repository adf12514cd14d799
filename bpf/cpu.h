/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the kernel itself keeps about a CPU: whether it is in an interrupt, and how many softirqs
 * were handled there. A program for each begin and end of a softirq would cost more than all that
 * is told by it: a request of a server causes several of them, and wakes somebody less than once.
 *
 * These variables lie in the memory that each CPU has of its own. Their place in it is in BTF.
 * Where that memory is does not stand anywhere that a program can read. But a run queue is one of
 * these variables, and each thread leads to that of its CPU. The result is checked by another
 * variable, the running thread.
 */
#ifndef BPF_CPU_H
#define BPF_CPU_H

#include "bpf/kernel_versions.h"

/* Offsets in the memory of a CPU, set by capture before the programs are loaded. */
const volatile u32 cpu_run_queue __weak = 0;
const volatile u32 cpu_running_task __weak = 0;
const volatile u32 cpu_preempt_count __weak = 0;
const volatile u32 cpu_softirq_counts __weak = 0;
const volatile u32 cpu_softirq_thread __weak = 0;
const volatile u32 cpu_softirqs_raised __weak = 0;
const volatile u32 cpu_receives __weak = 0; /* one byte */

/* Bits of the preempt count. */
#define CPU_IN_SOFTIRQ (1u << 8)
#define CPU_IN_HARDIRQ (0xffu << 16) /* or in a non-maskable interrupt */

#define CPU_SOFTIRQS 10 /* the number of vectors */
#define CPU_NET_RX 3
#define CPU_BLOCK 4

/* Finds the memory of this CPU. 0: it is not where it should be. */
static __always_inline u64 cpu_memory_find(struct task_struct *running)
{
	u64 run_queue = task_run_queue(running), memory = run_queue - cpu_run_queue;

	if (!run_queue ||
	    (u32)kernel_read_word((const void *)run_queue +
				  bpf_core_field_offset(struct rq, cpu)) !=
		    bpf_get_smp_processor_id() ||
	    kernel_read_word((const void *)(memory + cpu_running_task)) != (u64)running)
		return 0;
	return memory;
}

/* Which interrupts the CPU is in: CPU_IN_* */
static __always_inline u32 cpu_interrupts(u64 memory)
{
	return (u32)kernel_read_word((const void *)(memory + cpu_preempt_count)) &
	       (CPU_IN_SOFTIRQ | CPU_IN_HARDIRQ);
}

/*
 * A number that changes with each softirq on the CPU: the sum of the counts of all vectors, of
 * which each word has two.
 */
static __always_inline u64 cpu_softirq_number(u64 memory)
{
	const u64 counts = memory + cpu_softirq_counts;
	u64 sum = 0;

#pragma unroll
	for (int i = 0; i < CPU_SOFTIRQS / 2; i++)
		sum += kernel_read_word((const void *)(counts + 8 * i));
	return sum;
}

/* A number that changes with each softirq that receives packets. */
static __always_inline u64 cpu_receive_number(u64 memory)
{
	return kernel_read_word((const void *)(memory + cpu_softirq_counts + 8 * (CPU_NET_RX / 2)));
}

/*
 * Whether the softirq that the CPU is in is that of received packets. If it ends early, it raises
 * itself again, and says on that it receives.
 */
static __always_inline bool cpu_is_receiving(u64 memory)
{
	u8 receives = kernel_read_word((const void *)(memory + cpu_receives));
	u16 raised = kernel_read_word((const void *)(memory + cpu_softirqs_raised));

	return receives && !(raised & (1u << CPU_NET_RX));
}

/* Whether it is the CPU's thread for softirqs: woken by them, and by nothing that they serve. */
static __always_inline bool cpu_has_for_softirqs(u64 memory, const struct task_struct *task)
{
	return kernel_read_word((const void *)(memory + cpu_softirq_thread)) == (u64)task;
}

#endif
