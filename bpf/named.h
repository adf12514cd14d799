/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Threads by their number, for events that name a thread (bpf/event.bpf.c), since the kernels in
 * use do not lead from a number to the state of a thread. They are only kept if such an event was
 * chosen. The snapshot, forks and execs add threads. Each switch keeps the span with which the
 * thread left its CPU. The last switch moves the thread to those that ended: events may name it
 * until another thread gets the number.
 */
#ifndef BPF_NAMED_H
#define BPF_NAMED_H

#include "bpf/ring.h"
#include "bpf/state.h"

/* Set by capture before the programs are loaded. */
const volatile bool event_names_threads __weak = false;

struct named_thread {
	struct context ctx;
	u32 tid, pid;
	u32 in; /* in scope */
	u32 pad;
};

/* Capture sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct named_thread);
} named_threads SEC(".maps") __weak;

/* Capture sets max_entries. The oldest entry is dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct named_thread);
} ended_threads SEC(".maps") __weak;

static __always_inline struct named_thread *named_find(u32 tid)
{
	struct named_thread *named = bpf_map_lookup_elem(&named_threads, &tid);

	return named ? named : bpf_map_lookup_elem(&ended_threads, &tid);
}

static __always_inline void named_keep(struct task_struct *task, const struct thread_state *state)
{
	struct named_thread now = {}, *before;
	u32 tid = task->pid;

	if (!event_names_threads || !state || !tid)
		return;
	now.ctx = state->ctx;
	now.tid = tid;
	now.pid = task->tgid;
	now.in = state_in(state);
	before = bpf_map_lookup_elem(&named_threads, &tid);
	if (before && before->pid == now.pid && before->in == now.in &&
	    *(u64 *)before->ctx.span == *(u64 *)now.ctx.span)
		return; /* the common case */
	if (bpf_map_update_elem(&named_threads, &tid, &now, BPF_ANY) == 0)
		return;
	ring_count_incomplete();
	bpf_map_delete_elem(&ended_threads, &tid); /* another thread had the number before */
}

/* Drops a thread that does not have its number any more. */
static __always_inline void named_drop(u32 tid)
{
	if (!event_names_threads)
		return;
	bpf_map_delete_elem(&named_threads, &tid);
	bpf_map_delete_elem(&ended_threads, &tid);
}

static __always_inline void named_end(u32 tid)
{
	struct named_thread *named, copy;

	if (!event_names_threads)
		return;
	named = bpf_map_lookup_elem(&named_threads, &tid);
	if (!named)
		return;
	copy = *named;
	__builtin_memset(&copy.ctx, 0, sizeof(copy.ctx)); /* an ended thread has no span */
	bpf_map_update_elem(&ended_threads, &tid, &copy, BPF_ANY);
	bpf_map_delete_elem(&named_threads, &tid);
}

#endif
