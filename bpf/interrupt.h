/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Interrupts on a CPU, and what they and kernel threads serve. If an interrupt or a kernel thread
 * wakes a thread, the cause is the socket, the block request or the request to an io_uring that it
 * served just before.
 */
#ifndef BPF_INTERRUPT_H
#define BPF_INTERRUPT_H

#include "bpf/cpu.h"
#include "bpf/kernel_versions.h"

/*
 * The state of a CPU. A program for a rare event notes what is served, and the end of the interrupt
 * clears it. A hard interrupt can come in the middle of a softirq, which goes on afterwards with
 * what it served, so each has its own fields. What a kernel thread serves counts as long as
 * `worker` is that thread and it has not left the CPU. So does a socket whose state a thread of a
 * program changes, or to which it brings data, together with the number of the call in which it
 * does.
 */
struct interrupt_state {
	u32 softirq; /* vector + 1 */
	u32 hardirq; /* number + 1 */
	u32 timer;   /* bits: 1: the CPU's own, 2: a high-resolution one, 4: of the wheel */
	u32 worker;  /* the thread, outside of interrupts, that served this; 0: none */
	u64 sock;    /* the struct sock to which data came last; 0: none */
	u64 block;   /* as in record_waking; for the softirq or the worker */
	struct file_ref file; /* of a request to an io_uring, for the worker */
	u64 hardirq_block;    /* for the hard interrupt */
	u32 vectors;	      /* bits: interrupts between CPUs (event.bpf.c) */
	u32 worker_switches;  /* switches of the worker when it served this */
	u64 changed;	      /* a struct sock, changed by the worker in its open call */
	u64 changed_nr;
	u64 memory; /* of the CPU: bpf/cpu.h; 0: not looked for yet */
	/* where softirqs are read: what they served, and in which of them */
	u64 received_sock;
	u64 received_number;
	u64 softirq_block;
	u64 softirq_number;
	u64 readied; /* a struct sock, to which the worker brought data in its open call */
	u64 readied_nr;
};

/*
 * Set by capture before recording begins: the kernel's own variables tell of softirqs, and the
 * programs at their begin and end are not attached.
 */
u32 softirqs_read __weak = 0;

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

static __always_inline bool interrupt_reads_softirqs(void)
{
	return *(volatile u32 *)&softirqs_read;
}

/* The memory of this CPU. 0: it was not found. */
static __always_inline u64 interrupt_memory(struct interrupt_state *interrupt)
{
	if (!interrupt->memory)
		interrupt->memory = cpu_memory_find(bpf_get_current_task_btf());
	return interrupt->memory;
}

/* Where softirqs are read: the interrupts that the CPU is in, CPU_IN_*. */
static __always_inline u32 interrupt_read(struct interrupt_state *interrupt)
{
	u64 memory = interrupt_memory(interrupt);

	return memory ? cpu_interrupts(memory) : 0;
}

/*
 * Where softirqs are read: notes the socket to which data came. It counts as long as this CPU is in
 * this softirq; if it is in none, the next one is another.
 */
static __always_inline void interrupt_note_socket(struct interrupt_state *interrupt,
						  const struct sock *sk)
{
	u64 memory = interrupt_memory(interrupt);

	interrupt->received_sock = memory ? (u64)sk : 0;
	if (memory)
		interrupt->received_number = cpu_receive_number(memory);
}

/* The same of a block request that a softirq completes. */
static __always_inline void interrupt_note_block(struct interrupt_state *interrupt, u64 block)
{
	interrupt->softirq_block = block;
	interrupt->softirq_number = cpu_softirq_number(interrupt->memory);
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

/* Whether the fields of the worker are those of the running thread. */
static __always_inline bool interrupt_is_of(const struct interrupt_state *interrupt,
					    const struct task_struct *worker)
{
	return interrupt->worker == (u32)worker->pid &&
	       interrupt->worker_switches == interrupt_switches(worker);
}

/* Whether the program runs in an interrupt, which has nothing to do with the thread below. */
static __always_inline bool interrupt_is_above(void)
{
	struct interrupt_state *interrupt = interrupt_here();

	return interrupt &&
	       (interrupt->softirq || interrupt->hardirq || interrupt->timer ||
		interrupt->vectors || (interrupt_reads_softirqs() && interrupt_read(interrupt)));
}

/*
 * Where to note what an interrupt or a kernel thread serves. NULL in a thread of a program, which
 * is the waker itself.
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

/* Notes that the running thread connects, shuts down or closes a socket. Not in an interrupt. */
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

/* Notes that the running thread brings data to a socket, as to its peer. Not in an interrupt. */
static __always_inline void interrupt_keep_readied(const struct sock *sk)
{
	struct interrupt_state *interrupt = interrupt_here();
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!interrupt)
		return;
	interrupt_set_worker(interrupt, task);
	interrupt->readied = (u64)sk;
	interrupt->readied_nr = KERNEL_READ(regs, orig_ax);
}

/* The socket to which the running thread has brought data in its open call; NULL: none. */
static __always_inline struct sock *interrupt_readied(const struct interrupt_state *interrupt,
						      const struct task_struct *task,
						      struct pt_regs *regs)
{
	if (!interrupt_is_of(interrupt, task) ||
	    interrupt->readied_nr != KERNEL_READ(regs, orig_ax))
		return NULL;
	return (struct sock *)interrupt->readied;
}

/* The socket that the running thread has changed in its open call; NULL: none. */
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
