/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What runs on a CPU above the thread, and what it serves: a wake-up that
 * comes from an interrupt or a kernel thread is on account of a socket, a block
 * request or a request to an io_uring that was served just before.
 */
#ifndef BPF_INTERRUPT_H
#define BPF_INTERRUPT_H

#include "bpf/kernel.h"

/*
 * What is served is told by the program of a rare event, and forgotten with
 * the interrupt in which that was. A hard interrupt can come in the middle of a softirq,
 * which goes on with what it served: each has its own. Of a kernel thread it counts while
 * `worker` is that thread, and has not left the CPU since.
 */
struct interrupt_state {
	u32 softirq;	      /* vector + 1 */
	u32 hardirq;	      /* number + 1 */
	u32 timer;	      /* bit by bit: 1 the CPU's own, 2 a high-resolution one */
	u32 worker;	      /* kernel thread outside of interrupts that served this; 0: none */
	u64 sock;	      /* struct sock to which something came last; 0: none */
	u64 block;	      /* as in record_waking; of the softirq or the worker */
	struct file_ref file; /* of a request to an io_uring, with worker */
	u64 hardirq_block;    /* of the hard interrupt */
	u32 vectors;	      /* bit by bit: those between CPUs (event.bpf.c) */
	u32 worker_switches;  /* that it had made when it served this */
};

/* Capture sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct interrupt_state);
} interrupts SEC(".maps") __weak;

static __always_inline struct interrupt_state *interrupt_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&interrupts, &cpu);
}

static __always_inline u32 interrupt_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Is that what the running kernel thread serves? */
static __always_inline bool interrupt_is_of(const struct interrupt_state *interrupt,
					    const struct task_struct *worker)
{
	return interrupt->worker == (u32)worker->pid &&
	       interrupt->worker_switches == interrupt_switches(worker);
}

/* Runs this in an interrupt, which has nothing to do with the thread below? */
static __always_inline bool interrupt_is_above(void)
{
	struct interrupt_state *interrupt = interrupt_here();

	return interrupt &&
	       (interrupt->softirq || interrupt->hardirq || interrupt->timer || interrupt->vectors);
}

/*
 * For an event that says what an interrupt or a kernel thread serves: where to
 * keep it. NULL in a thread of a program: that one is the waker itself.
 */
static __always_inline struct interrupt_state *interrupt_serving(void)
{
	struct interrupt_state *interrupt = interrupt_here();
	struct task_struct *task;

	if (!interrupt)
		return NULL;
	if (interrupt->softirq || interrupt->hardirq)
		return interrupt;
	task = bpf_get_current_task_btf();
	if (!task_is_kernels(task))
		return NULL;
	interrupt->worker = task->pid;
	interrupt->worker_switches = interrupt_switches(task);
	interrupt->sock = 0;
	interrupt->block = 0;
	interrupt->file.kind = 0;
	return interrupt;
}

#endif
