/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What runs on a CPU above the thread, and what it serves: a wake-up that
 * comes from an interrupt or a kernel thread is on account of a socket, a block
 * request or a request to an io_uring that was served just before.
 */
#ifndef BPF_INTERRUPT_H
#define BPF_INTERRUPT_H

#include "bpf/kernel_versions.h"

/*
 * What is served is told by the program of a rare event, and forgotten with
 * the interrupt in which that was. A hard interrupt can come in the middle of a softirq,
 * which goes on with what it served: each has its own. Of a kernel thread it counts while
 * `worker` is that thread, and has not left the CPU since; so does a socket of which the thread of
 * a program changes the state, with the number of the call in which it does.
 */
struct interrupt_state {
	u32 softirq;	      /* vector + 1 */
	u32 hardirq;	      /* number + 1 */
	u32 timer;	      /* bit by bit: 1 the CPU's own, 2 a high-resolution one */
	u32 worker;	      /* thread outside of interrupts that served this; 0: none */
	u64 sock;	      /* struct sock to which something came last; 0: none */
	u64 block;	      /* as in record_waking; of the softirq or the worker */
	struct file_ref file; /* of a request to an io_uring, with worker */
	u64 hardirq_block;    /* of the hard interrupt */
	u32 vectors;	      /* bit by bit: those between CPUs (event.bpf.c) */
	u32 worker_switches;  /* that it had made when it served this */
	u64 changed;	      /* struct sock, with worker and the call that is open */
	u64 changed_nr;
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

static __always_inline void interrupt_set_worker(struct interrupt_state *interrupt,
						 const struct task_struct *task)
{
	interrupt->worker = task->pid;
	interrupt->worker_switches = interrupt_switches(task);
}

/* Is that what the running thread serves? */
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
	interrupt_set_worker(interrupt, task);
	interrupt->sock = 0;
	interrupt->block = 0;
	interrupt->file.kind = 0;
	return interrupt;
}

/* Not in an interrupt: the running thread connects, shuts down or closes a socket. */
static __always_inline void interrupt_keep_changed(const struct sock *sk)
{
	struct interrupt_state *interrupt = interrupt_here();
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!interrupt)
		return;
	interrupt_set_worker(interrupt, task);
	interrupt->changed = (u64)sk;
	interrupt->changed_nr = KERNEL_READ(regs, orig_ax);
}

/* The socket that the running thread has changed in the call that it is in; NULL: none. */
static __always_inline struct sock *interrupt_changed(const struct interrupt_state *interrupt,
						      const struct task_struct *task,
						      struct pt_regs *regs)
{
	if (!interrupt_is_of(interrupt, task) ||
	    interrupt->changed_nr != KERNEL_READ(regs, orig_ax))
		return NULL;
	return (struct sock *)interrupt->changed;
}

#endif
