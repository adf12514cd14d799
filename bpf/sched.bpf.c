// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Context switches and wake-ups, with what caused each wake-up. */
#include "bpf/ended.h"
#include "bpf/fault.h"
#include "bpf/file.h"
#include "bpf/in_request.h"
#include "bpf/interrupt.h"
#include "bpf/leave.h"
#include "bpf/license.h"
#include "bpf/named.h"
#include "bpf/request.h"
#include "bpf/ring.h"
#include "bpf/switch.h"
#include "bpf/told.h"
#include "bpf/waker.h"

#define HRTIMER_SOFTIRQ 8 /* some timers expire there, others in the interrupt itself */

static __always_inline u8 leave_state(bool preempt, u32 state, struct task_struct *task)
{
	if (preempt || state == 0)
		return leave_of_runnable(task);
	return leave_of_task_state(state);
}

/* Whether the thread gets its first stay on a CPU. Kernel workers stay newborn for ever. */
static __always_inline bool first_stay(const struct thread_state *state)
{
	return state && state->newborn && !state->stayed;
}

/*
 * With spans_only: whether the wake-up of a thread, and its run, are recorded. If the thread was
 * asleep in a call when recording began, it is not known before it runs whether it has a span.
 */
static __always_inline bool sleeper_is_wanted(const struct thread_state *state)
{
	return state && (context_is_set(&state->ctx) ||
			 (calls_are_followed(state) && state->in_syscall >= IN_SYSCALL_SOFT));
}

static __always_inline bool next_is_in(struct task_struct *next, const struct thread_state *state)
{
	if (next->pid && task_is_plain(next))
		return stateless_in(next->tgid);
	return state_in(state);
}

/*
 * Forgets the open call of a thread without a span that sleeps again. The sleep is not recorded, so
 * the duration of the call must not be, either.
 */
static __always_inline void sleeper_forget(struct thread_state *state)
{
	if (state->in_syscall != IN_SYSCALL_SOFT || context_is_set(&state->ctx))
		return;
	state->in_syscall = 0;
	state->begin_ns = 0;
	state->called = CALLED_FORGOTTEN;
}

/* Whether there may be threads whose calls are not recorded now. */
static __always_inline bool some_are_uncalled(void)
{
	return !*(volatile u32 *)&calls_on || calls_raise();
}

/* Whether no calls of a thread are recorded now. Its state may be NULL, and is then looked up. */
static __always_inline bool thread_is_uncalled(struct task_struct *task, struct thread_state *state)
{
	if (!task->pid || !some_are_uncalled())
		return false;
	if (!*(volatile u32 *)&calls_on)
		return true;
	if (!state)
		state = state_known(task);
	return !state || !calls_are_followed(state);
}

/* What sched_switch() finds out of the next thread first. */
#define NEXT_IS_THREAD 1u /* it is not idle */
#define NEXT_IS_IN 2u
#define NEXT_IS_UNCALLED 4u

static __always_inline u32 next_look(struct task_struct *next, struct thread_state *state, bool in)
{
	u32 is = next->pid ? NEXT_IS_THREAD : 0;

	if (in)
		is |= NEXT_IS_IN;
	if (thread_is_uncalled(next, state))
		is |= NEXT_IS_UNCALLED;
	return is;
}

/* Fills in where the thread was that leaves the CPU, as far as it is recorded. */
static __always_inline void switch_fill_prev(struct record_switch *r, struct thread_state *state,
					     struct task_struct *prev, bool in, bool followed)
{
	if (task_is_kernels(prev)) {
		r->mode = MODE_kernel_thread;
		if (in && prev->flags & PF_IO_WORKER)
			request_fill(&r->file, bpf_get_current_task());
	} else if (in && !(spans_only && !context_is_set(&r->ctx)))
		switch_fill_mode(r, state, prev, followed);
	else if (in && !followed)
		r->state |= LEAVE_BEFORE_UNKNOWN;
}

/*
 * Records the name of a thread out of scope that wakes one in scope or has its CPU: no other record
 * tells it. It goes through the rare ring, since it must not be overwritten.
 */
static __noinline int outsider_name(struct task_struct *task)
{
	struct {
		struct record_name r;
		u8 rest[RECORD_SLOT_BYTES - sizeof(struct record_name)];
	} out = {};
	struct told now, *told;
	u32 tid = task->pid;
	long n;

	if (!tid || state_in(state_of(task)))
		return 0;
	now = told_now(task->start_time);
	told = bpf_map_lookup_elem(&told_outsiders, &tid);
	if (!told_is_due(told, &now))
		return 0;
	out.r.head.kind = RECORD_name;
	out.r.head.slots = 1;
	out.r.head.tid = tid;
	out.r.head.pid = task->tgid;
	n = bpf_probe_read_kernel_str(out.r.comm, sizeof(out.r.comm), task->comm);
	out.r.comm_len = n > 0 ? n - 1 : 0;
	now.missed = !RARE_TRY(&out.r.head, RECORD_SLOT_BYTES);
	if (now.missed && !told_same(told, &now))
		ring_count_lost(RECORD_name);
	bpf_map_update_elem(&told_outsiders, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     u32 prev_state)
{
	struct thread_state *state = prev->pid ? state_of(prev) : NULL;
	struct thread_state *next_state = next->pid && !task_is_plain(next) ? state_of(next) : NULL;
	bool in = state_in(state), next_in = next_is_in(next, next_state);
	struct switch_slots out = {};
	struct record_switch *r = &out.r;
	struct ring_place place;
	bool over = false, followed = true;
	u32 n, next_is;

	if (!in && !next_in)
		return 0;
	/* here, so that the verifier need not look at all below with and without a state of next */
	r->next_tid = tid_of(next, next_state);
	next_is = FORGET(next_look(next, next_state, next_in), prev_state);
	if (in && state->fault_begin_ns && calls_are_followed(state))
		fault_leave(state, preempt, prev_state);
	if (in && !task_is_kernels(prev))
		followed = switch_fill_context(r, state, prev);
	if (in && prev_state & 0x80) /* dead */
		named_end(prev->pid);
	else if (in)
		named_keep(prev, state);
	if (spans_only) {
		if (in) {
			sleeper_forget(state);
			over = span_is_over(state, &r->ctx);
		}
		/* first stays on a CPU and ends of threads are always recorded */
		in = in && (context_is_set(&r->ctx) || over || (prev_state & 0x80));
		if (!sleeper_is_wanted(next_state) && !first_stay(next_state))
			next_is &= ~NEXT_IS_IN;
		if (!in && !(next_is & NEXT_IS_IN))
			return 0;
	}
	n = FORGET(switch_slots_of(r), prev_state);
	if (ring_reserve(&place, n, RECORD_switch))
		return 0;
	if (spans_only && next_is & NEXT_IS_IN && first_stay(next_state))
		next_state->stayed = 1;
	if (over)
		state->spanned = 0;
	r->head.kind = RECORD_switch;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = tid_of(prev, state);
	r->head.pid = prev->tgid;
	r->state = FORGET(prev->pid ? leave_state(preempt, prev_state, prev) : LEAVE_idle,
			  prev_state);
	if (over && !(prev_state & 0x80))
		r->state = LEAVE_untold;
	switch_fill_prev(r, state, prev, in, followed);
	if (next_is & NEXT_IS_UNCALLED)
		r->state |= LEAVE_NEXT_UNCALLED;
	if (prev->pid && !in)
		r->mode |= MODE_PREV_OUT;
	if ((next_is & (NEXT_IS_THREAD | NEXT_IS_IN)) == NEXT_IS_THREAD)
		r->mode |= MODE_NEXT_OUT;
	ring_publish(&place, r, n);
	/* one of the two is in scope, and may wait for the CPU while the other one has it */
	if (!scope_host)
		outsider_name(r->mode & MODE_PREV_OUT ? prev : next);
	return 0;
}

/* A kernel thread wakes others for something that it serves: fills in what that is. */
static __always_inline void waking_fill_served(struct record_waking *r, struct task_struct *waker,
					       const struct interrupt_state *interrupt)
{
	r->context = WAKE_kernel_thread;
	if (interrupt_is_of(interrupt, waker)) {
		if (interrupt->sock)
			waker_socket(&r->file, (struct sock *)interrupt->sock);
		else
			r->file = interrupt->file;
		r->block = interrupt->block;
	} else if (waker->flags & PF_IO_WORKER) {
		waker_request(&r->file, waker);
	}
}

/* Where softirqs are read: fills in which one wakes the thread, if that shows. Its socket, or 0. */
static __always_inline u64 waking_read_softirq(struct record_waking *r,
					       const struct interrupt_state *interrupt,
					       const struct task_struct *woken)
{
	u64 memory = interrupt->memory;

	if (cpu_is_receiving(memory)) {
		r->context = WAKE_softirq;
		r->vector = CPU_NET_RX;
		if (interrupt->received_number == cpu_receive_number(memory))
			return interrupt->received_sock;
	} else if (interrupt->softirq_block &&
		   interrupt->softirq_number == cpu_softirq_number(memory) &&
		   !cpu_has_for_softirqs(memory, woken)) {
		r->context = WAKE_softirq;
		r->vector = CPU_BLOCK;
		r->block = interrupt->softirq_block;
	}
	return 0;
}

/* Fills in the interrupt that wakes the thread, and the socket that it serves (*sock; 0: none). */
static __always_inline bool waking_fill_interrupt(struct record_waking *r, u64 *sock,
						  struct interrupt_state *interrupt,
						  const struct task_struct *woken)
{
	u32 in;

	if (interrupt->timer) {
		r->context = WAKE_timer;
	} else if (interrupt->hardirq) {
		r->context = WAKE_hardirq;
		r->irq = interrupt->hardirq - 1;
		r->block = interrupt->hardirq_block;
	} else if (interrupt->softirq) {
		r->vector = interrupt->softirq - 1;
		r->context = r->vector == HRTIMER_SOFTIRQ ? WAKE_timer : WAKE_softirq;
		r->block = interrupt->block;
		*sock = interrupt->sock;
	} else if (interrupt_reads_softirqs()) {
		in = interrupt_memory(interrupt) ? interrupt_read(interrupt) : CPU_IN_HARDIRQ;
		if (!in)
			return false;
		r->context = WAKE_unknown;
		if (!(in & CPU_IN_HARDIRQ))
			*sock = waking_read_softirq(r, interrupt, woken);
	} else {
		return false;
	}
	return true;
}

static __always_inline void waking_fill_context(struct record_waking *r, struct task_struct *waker,
						const struct task_struct *woken)
{
	struct interrupt_state *interrupt = interrupt_here();
	u64 sock = 0;

	if (!interrupt)
		r->context = WAKE_unknown;
	else if (waking_fill_interrupt(r, &sock, interrupt, woken)) {
		if (!sock)
			return;
		waker_socket(&r->file, (struct sock *)sock);
		if (waker_feeds(waker, (struct sock *)sock, r->file.kind, interrupt))
			r->context = WAKE_task;
	} else if (task_is_kernels(waker))
		waking_fill_served(r, waker, interrupt);
	else
		waker_fill_task(r, waker);
}

/* Fills in the word of a futex on which the thread sleeps, if a thread wakes it, on no file. */
static __always_inline void waking_fill_word(struct record_waking *r, struct pt_regs *regs)
{
	if (r->context != WAKE_task || r->file.kind)
		return;
	r->file.key = KERNEL_READ(regs, di);
	r->file.flags = FILE_NONE_WORD;
}

/*
 * Fills in what ended a wait for many files or for a futex, and whether a thread of the same
 * process ended the wait.
 */
static __always_inline void waking_fill_ended(struct record_waking *r, struct task_struct *task,
					      struct task_struct *waker)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct interrupt_state *interrupt = interrupt_here();
	enum ended_call call = ended_call_of(task, regs);
	u64 address = 0; /* as a number, for the verifier */

	if (call == ENDED_EPOLL) {
		ended_fill(r, task, regs);
		bpf_probe_read_kernel(&address, sizeof(address), &task);
		in_request_woken(address, KERNEL_READ(regs, di), r->fd, r->file.flags);
	}
	if (call == ENDED_FUTEX)
		waking_fill_word(r, regs);
	else if (call != ENDED_OTHER && !r->fd && r->context == WAKE_task && interrupt)
		waker_fill_ended(r, waker, interrupt);
	if (r->context == WAKE_task && waker->tgid == task->tgid)
		r->context |= WAKE_OWN;
}

/* Tells the addresses of a socket that ends the wait of a thread without calls in an epoll. */
static __noinline int waking_name_ended(struct task_struct *task, struct thread_state *state)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 address = 0; /* as a number, for the verifier */

	if (ended_call_of(task, regs) != ENDED_EPOLL || !thread_is_uncalled(task, state))
		return 0;
	bpf_probe_read_kernel(&address, sizeof(address), &task);
	return ended_name(address, KERNEL_READ(regs, di));
}

/* Whether the wake-up is recorded. Without state no span of the thread is known. */
static __always_inline bool waking_is_wanted(const struct task_struct *task,
					     const struct thread_state *state)
{
	if (state)
		return state_in(state) && (!spans_only || sleeper_is_wanted(state));
	return scope_host && !spans_only && stateless_in(task->tgid);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct thread_state *state = task_is_plain(task) ? NULL : state_try(task);
	struct task_struct *waker = bpf_get_current_task_btf();
	struct {
		struct record_waking r;
	} out = {};
	struct record_waking *r = &out.r;
	struct ring_place place;

	if (!waking_is_wanted(task, state))
		return 0;
	if (some_are_uncalled())
		waking_name_ended(task, state);
	if (!scope_host)
		outsider_name(waker);
	if (ring_reserve(&place, 1, RECORD_waking))
		return 0;
	r->head.kind = RECORD_waking;
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.tid = tid_of(task, state);
	r->head.pid = task->tgid;
	r->waker_tid = waker->pid; /* waker_fill_task() may know another number */
	waking_fill_context(r, waker, task);
	waking_fill_ended(r, task, waker);
	if (some_are_uncalled() && task->on_rq)
		r->context |= WAKE_QUEUED;
	ring_publish(&place, r, 1);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, u32 vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt) {
		interrupt->softirq = vector + 1;
		interrupt->sock = 0;
		interrupt->block = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, u32 vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt) {
		interrupt->softirq = 0;
		interrupt->sock = 0;
		interrupt->block = 0;
	}
	return 0;
}

/* Whether an interrupt or a kernel thread does something on the socket, which is noted. */
static __always_inline bool socket_is_served(const struct sock *sk)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt && interrupt_reads_softirqs()) {
		interrupt_note_socket(interrupt, sk);
		if (interrupt_read(interrupt))
			return true;
	}
	interrupt = interrupt_serving();
	if (interrupt)
		interrupt->sock = (u64)sk;
	return interrupt;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready, const struct sock *sk)
{
	if (!socket_is_served(sk))
		interrupt_keep_readied(sk);
	return 0;
}

/* A socket was connected, or closed by its other end, which wakes threads, too. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(inet_sock_set_state, struct sock *sk, int before, int after)
{
	if (after == TCP_SYN_SENT && sk->sk_protocol == IPPROTO_TCP)
		tcp_begins(sk);
	if (!socket_is_served(sk) && sk->sk_protocol == IPPROTO_TCP)
		interrupt_keep_changed(sk);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt) {
		interrupt->hardirq = irq + 1;
		interrupt->hardirq_block = 0;
	}
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt) {
		interrupt->hardirq = 0;
		interrupt->hardirq_block = 0;
	}
	return 0;
}

/* Work that an interrupt or the CPU has put off, such as wake-ups by perf. */
SEC("tp_btf/irq_work_entry")
int BPF_PROG(irq_work_entry, int vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt) {
		interrupt->hardirq = WAKE_IRQ_NONE + 1;
		interrupt->hardirq_block = 0;
	}
	return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(irq_work_exit, int vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->hardirq = 0;
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(local_timer_entry, int vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer |= 1;
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(local_timer_exit, int vector)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer &= ~1u;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_expire_entry)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer |= 2;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_expire_exit)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer &= ~2u;
	return 0;
}

/* A timer of the timer wheel, which expires in a softirq. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_expire_entry)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer |= 4;
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(timer_expire_exit)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->timer &= ~4u;
	return 0;
}

/* Whether the kernel's variables of a CPU are where capture expects them. Run by it. */
SEC("raw_tp")
int cpu_memory_try(void *ctx)
{
	return cpu_memory_find(bpf_get_current_task_btf()) != 0;
}

/* The worker begins another work: what it served before does not count any more. */
SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(workqueue_execute_start)
{
	struct interrupt_state *interrupt = interrupt_here();

	if (interrupt)
		interrupt->worker = 0;
	return 0;
}
