// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Block I/O, from issue to completion. The thread is the one that submitted
 * the bio; the one that issues the request is often a kernel worker, and the
 * one that runs at the completion is any.
 */
#include "bpf/block.h"
#include "bpf/ring.h"
#include "bpf/state.h"

char LICENSE[] SEC("license") = "GPL";

struct block_open {
	u64 queued_ns, issued_ns;
	u32 tid, pid;
	u64 flags; /* BLOCK_WRITEBACK: submitted by a kernel thread */
};

/* By address of the bio, then of the request. What never completes is thrown out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct block_open);
} block_bios SEC(".maps"), block_requests SEC(".maps");

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct block_open open = {.tid = task->pid, .pid = task->tgid};
	u64 key = (u64)bio;

	if (!state_in(state))
		return 0;
	if (task->flags & PF_KTHREAD)
		open.flags = BLOCK_WRITEBACK;
	open.queued_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&block_bios, &key, &open, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	u64 key = (u64)request->bio;
	struct block_open *found = key ? bpf_map_lookup_elem(&block_bios, &key) : NULL;
	struct block_open open;

	if (!found)
		return 0;
	open = *found;
	bpf_map_delete_elem(&block_bios, &key);
	open.issued_ns = bpf_ktime_get_ns();
	key = (u64)request;
	bpf_map_update_elem(&block_requests, &key, &open, BPF_ANY);
	return 0;
}

static __always_inline u32 block_flags(struct request *request, int error)
{
	u32 operation = request->cmd_flags & 0xff, flags = 0;

	if ((operation & 1) && operation != 3)
		flags |= BLOCK_WRITE;
	if (operation == 2)
		flags |= BLOCK_FLUSH;
	if (operation == 3)
		flags |= BLOCK_DISCARD;
	if (request->cmd_flags & (1u << 11)) /* REQ_SYNC */
		flags |= BLOCK_SYNC;
	return error ? flags | BLOCK_FAILED : flags;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, int error, u32 bytes)
{
	u64 key = (u64)request;
	struct block_open *open = bpf_map_lookup_elem(&block_requests, &key);
	struct {
		struct record_block r;
		u64 rest[8];
	} out = {};
	struct record_block *r = &out.r;
	struct ring_place place;

	if (!open)
		return 0;
	if (ring_reserve(&place, 2, RING_LOST_OTHER) == 0) {
		r->head.kind = RECORD_block;
		r->head.time_ns = bpf_ktime_get_ns();
		r->head.tid = open->tid;
		r->head.pid = open->pid;
		r->dev = BPF_CORE_READ(request, part, bd_dev);
		r->bytes = bytes;
		r->duration_ns = r->head.time_ns - open->issued_ns;
		r->queued_ns = open->issued_ns - open->queued_ns;
		r->sector = request->__sector;
		r->flags = block_flags(request, error) | open->flags;
		ring_publish(&place, r, 2);
	}
	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}
