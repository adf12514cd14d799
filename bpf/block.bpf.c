// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Block I/O, from issue to completion. The thread of a request is the one that submitted its bio.
 * The request is often issued by a kernel worker, and its completion runs on any thread.
 *
 * Bios that were merged before the issue are one request, which belongs to the first of them that a
 * thread in scope submitted. The two parts of a bio that was split are requests of the same thread.
 * A flush of the device has no bio: it is for the requests that wait for it in the kernel's queue,
 * and belongs to the first of them in scope. A bio may need two flushes, before and after its data.
 *
 * A bio is known from its submission to its end, and a request from its issue to its end; neither
 * is dropped in between. A request without room is counted as lost. So is a request none of whose
 * bios had room, once, however many they are.
 */
#include "bpf/block.h"
#include "bpf/context.h"
#include "bpf/interrupt.h"
#include "bpf/kernel_versions.h"
#include "bpf/ring.h"
#include "bpf/state.h"

char LICENSE[] SEC("license") = "GPL";

#define OP_MASK 0xff
#define OP_FLUSH 2
#define OP_DISCARD 3
#define OP_SYNC (1u << 11)
#define OP_FUA (1u << 17)
#define OP_PREFLUSH (1u << 18)
#define MERGED_MAX 64  /* so many bios of a request are looked at */
#define ENDED_MAX 256  /* bios that end together */
#define FLUSHED_MAX 16 /* requests that a flush is for */
#define PARENTS_MAX 2  /* depth of splits of a bio */

struct block_open {
	u64 queued_ns; /* 0: the request is lost, since its bios had no room */
	u64 issued_ns;
	u32 tid, pid;
	u64 flags;  /* BLOCK_WRITEBACK: submitted by a kernel thread */
	u64 cgroup; /* of the bio, with BLOCK_WRITEBACK */
	u64 bytes;  /* that are done, if a request completes in parts */
	u64 bio;    /* of a request: its first bio when it was issued; 0: a flush */
	u64 sector; /* of a request: its first sector when it was issued */
	struct context ctx;
};

/* By address of the bio and of the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct block_open);
} block_bios SEC(".maps"), block_requests SEC(".maps");

/* Bios of threads in scope for which there was no room, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} block_crowded SEC(".maps");

bool block_was_crowded; /* one was put there */

/*
 * Bios that may need a flush, by address. They outlast their data in block_bios. The map is only
 * read for a bio that waits for a flush, whose entry was set or removed when it was submitted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct block_open);
} block_flushes SEC(".maps");

static __always_inline void bio_forget_crowded(u64 key)
{
	if (block_was_crowded)
		bpf_map_delete_elem(&block_crowded, &key);
}

static __always_inline void bio_forget(u64 key)
{
	bpf_map_delete_elem(&block_bios, &key);
	bio_forget_crowded(key);
}

/* Keeps a bio. If even its loss cannot be noted, it is counted now, and perhaps once more later. */
static __always_inline void bio_keep(u64 key, const struct block_open *open)
{
	u8 there = 1;

	if (bpf_map_update_elem(&block_bios, &key, open, BPF_ANY) == 0) {
		bio_forget_crowded(key); /* the address was another's before */
		return;
	}
	block_was_crowded = true;
	if (bpf_map_update_elem(&block_crowded, &key, &there, BPF_ANY))
		ring_count_lost(RECORD_block);
}

static __always_inline bool block_wanted(struct thread_state *state, struct task_struct *task)
{
	if (!state_in(state))
		return false;
	context_now(state, task); /* a fault reads the span only at its end */
	return !spans_only || context_is_set(&state->ctx);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = state_of(task);
	struct block_open open = {.tid = tid_of(task, state), .pid = task->tgid};
	bool flushes = bio->bi_opf & (OP_PREFLUSH | OP_FUA);
	u64 key = (u64)bio;

	if (!block_wanted(state, task)) {
		bio_forget(key); /* the address was another's before */
		if (flushes)
			bpf_map_delete_elem(&block_flushes, &key);
		return 0;
	}
	if (task->flags & PF_KTHREAD && bio->bi_opf & 1 && (bio->bi_opf & OP_MASK) != OP_DISCARD) {
		open.flags = BLOCK_WRITEBACK;
		open.cgroup = bio_cgroup(bio);
	}
	open.ctx = state->ctx;
	open.queued_ns = bpf_ktime_get_ns();
	bio_keep(key, &open);
	if (flushes)
		bpf_map_update_elem(&block_flushes, &key, &open, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(block_bio_complete, void *queue, struct bio *bio)
{
	bio_forget((u64)bio);
	return 0;
}

enum bio_map {
	BIO_SUBMITTED,
	BIO_CROWDED,
	BIO_FLUSHES,
};

/*
 * The address under which a map has a bio, or 0. A bio that was split off is chained to the one
 * that was submitted, which does not end before it. A global function, which the verifier checks
 * once and not for each bio.
 */
__noinline u64 bio_key(u64 key, u32 map)
{
	for (int i = 0; i < PARENTS_MAX + 1 && key; i++) {
		if (map == BIO_SUBMITTED ? bpf_map_lookup_elem(&block_bios, &key)
		    : map == BIO_CROWDED ? bpf_map_lookup_elem(&block_crowded, &key)
					 : bpf_map_lookup_elem(&block_flushes, &key))
			return key;
		key = (u64)BPF_CORE_READ((struct bio *)key, bi_private);
	}
	return 0;
}

/* The same of the first bio of a request that the map has. */
static __always_inline u64 bios_key(struct bio *bio, u32 map)
{
	u64 key = 0;

	for (int i = 0; i < MERGED_MAX && bio && !key; i++) {
		key = bio_key((u64)bio, map);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return key;
}

/* Fills in who submitted the request, or that this is lost. */
static __always_inline bool block_of_bios(struct block_open *open, struct bio *bio)
{
	u64 key = bios_key(bio, BIO_SUBMITTED);
	struct block_open *of_bio = bpf_map_lookup_elem(&block_bios, &key);

	if (of_bio)
		*open = *of_bio;
	return of_bio || (block_was_crowded && bios_key(bio, BIO_CROWDED));
}

/* Whether a flush is for the request: it has the tag of the first request that waits for it. */
static __always_inline bool flush_is_for(struct request *flush, struct request *first)
{
	int number = BPF_CORE_READ(flush, internal_tag);

	return number >= 0 ? number == BPF_CORE_READ(first, internal_tag)
			   : flush->tag == BPF_CORE_READ(first, tag);
}

/* Finds the request in one of the two queues that the flush is for. */
static __always_inline struct block_open *flush_find(struct request *flush, struct list_head *queue)
{
	struct list_head *at = BPF_CORE_READ(queue, next);
	struct request *one;
	u64 key = 0;

	for (int i = 0; i < FLUSHED_MAX && at && at != queue && !key; i++) {
		one = (void *)at - request_flush_link();
		if (i == 0 && !flush_is_for(flush, one))
			return NULL;
		key = bio_key((u64)BPF_CORE_READ(one, biotail), BIO_FLUSHES);
		at = BPF_CORE_READ(at, next);
	}
	return bpf_map_lookup_elem(&block_flushes, &key);
}

static __always_inline bool block_of_flush(struct block_open *open, struct request *request)
{
	struct block_open *asked = NULL;
	struct blk_flush_queue *fq;

	if ((request->cmd_flags & OP_MASK) != OP_FLUSH)
		return false;
	fq = BPF_CORE_READ(request, mq_hctx, fq);
	for (int i = 0; i < 2 && fq && !asked; i++)
		asked = flush_find(request, (void *)fq + i * 2 * sizeof(void *) +
						    bpf_core_field_offset(struct blk_flush_queue,
									  flush_queue));
	if (asked)
		*open = *asked;
	return asked;
}

/*
 * Whether a bio whose data is done waits for one more flush, after which it ends. A global
 * function, so that the verifier checks the code behind it once.
 */
__noinline int flush_goes_on(u64 key, u32 bytes)
{
	struct block_open *open;
	u64 at;

	if (!key || !(BPF_CORE_READ((struct bio *)key, bi_opf) & (OP_PREFLUSH | OP_FUA)))
		return 0;
	at = bio_key(key, BIO_FLUSHES);
	open = bpf_map_lookup_elem(&block_flushes, &at);
	if (open && bytes)
		open->queued_ns = bpf_ktime_get_ns();
	else if (open)
		bpf_map_delete_elem(&block_flushes, &key);
	return 0;
}

/*
 * Whether a request is issued again, from its first sector or behind the part that is done. Another
 * request at the address of one whose end was not seen begins elsewhere, or its bio was submitted
 * later.
 */
static __always_inline bool block_is_known(struct request *request, struct bio *bio)
{
	u64 key = (u64)request;
	struct block_open *open = bpf_map_lookup_elem(&block_requests, &key), *of_bio;

	if (!open || !bio || request->__sector != open->sector + (open->bytes >> 9))
		return false;
	if (open->bio != (u64)bio && !open->bytes)
		return false;
	key = bio_key((u64)bio, BIO_SUBMITTED);
	of_bio = bpf_map_lookup_elem(&block_bios, &key);
	return !of_bio || of_bio->queued_ns <= open->issued_ns;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	struct block_open open = {};
	struct bio *bio = KERNEL_READ(request, bio);
	u64 key = (u64)request;

	if (block_is_known(request, bio))
		return 0;
	if (bio ? !block_of_bios(&open, bio) : !block_of_flush(&open, request)) {
		if (bio) /* the end of the request that had the address was not seen */
			bpf_map_delete_elem(&block_requests, &key);
		return 0;
	}
	open.bio = (u64)bio;
	open.sector = request->__sector;
	open.issued_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&block_requests, &key, &open, BPF_ANY))
		ring_count_lost(RECORD_block);
	return 0;
}

static __always_inline u32 block_flags(struct request *request, int error)
{
	u32 operation = request->cmd_flags & OP_MASK, flags = 0;

	if ((operation & 1) && operation != OP_DISCARD)
		flags |= BLOCK_WRITE;
	if (operation == OP_FLUSH)
		flags |= BLOCK_FLUSH;
	if (operation == OP_DISCARD)
		flags |= BLOCK_DISCARD;
	if (request->cmd_flags & OP_SYNC)
		flags |= BLOCK_SYNC;
	return error ? flags | BLOCK_FAILED : flags;
}

/* The partition of a request, if the kernel keeps it there; else the disk. */
static __always_inline u32 block_device_of(struct request *request)
{
	struct block_device *part = KERNEL_READ(request, part);

	return part ? BPF_CORE_READ(part, bd_dev) : BPF_CORE_READ(request, q, disk, part0, bd_dev);
}

/* Notes the request as the cause of wake-ups that follow. */
static __always_inline void block_is_served(u32 dev, u32 flags)
{
	struct interrupt_state *interrupt = interrupt_here();
	u32 in = interrupt && interrupt_reads_softirqs() ? interrupt_read(interrupt) : 0;

	if (in && !(in & CPU_IN_HARDIRQ)) {
		interrupt_note_block(interrupt, WAKE_BLOCK(dev, flags));
		return;
	}
	interrupt = interrupt_serving();
	if (!interrupt)
		return;
	if (interrupt->hardirq)
		interrupt->hardirq_block = WAKE_BLOCK(dev, flags);
	else
		interrupt->block = WAKE_BLOCK(dev, flags);
}

/*
 * Removes the entry of a bio, or of the bio it was split from unless other parts are under way. A
 * global function, which the verifier checks once and not for each bio.
 */
__noinline int bio_end(u64 key)
{
	if (!bpf_map_lookup_elem(&block_bios, &key) &&
	    !(block_was_crowded && bpf_map_lookup_elem(&block_crowded, &key)))
		key = (u64)BPF_CORE_READ((struct bio *)key, bi_private);
	if (BPF_CORE_READ((struct bio *)key, __bi_remaining.counter) <= 1)
		bio_forget(key);
	return 0;
}

/* Ends the bios of the next bytes of a request, which block_bio_complete does not tell. */
static __always_inline void block_end_bios(struct request *request, u32 bytes)
{
	struct bio *bio = BPF_CORE_READ(request, bio); /* a plain number, as functions take it */

	for (int i = 0; i < ENDED_MAX && bio; i++) {
		u32 size = BPF_CORE_READ(bio, bi_iter.bi_size);

		if (size > bytes)
			break;
		bytes -= size;
		bio_end((u64)bio);
		bio = BPF_CORE_READ(bio, bi_next);
	}
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

	block_is_served(block_device_of(request), block_flags(request, error));
	flush_goes_on((u64)BPF_CORE_READ(request, bio), bytes);
	block_end_bios(request, bytes);
	if (!open)
		return 0;
	open->bytes += bytes;
	if (bytes < request->__data_len)
		return 0; /* the rest of the request follows */
	if (!open->queued_ns) {
		ring_count_lost(RECORD_block);
	} else if (ring_reserve(&place, 2, RECORD_block) == 0) {
		r->head.kind = RECORD_block;
		r->head.time_ns = bpf_ktime_get_ns();
		r->head.tid = open->tid;
		r->head.pid = open->pid;
		r->dev = block_device_of(request);
		r->bytes = open->bytes;
		r->duration_ns = r->head.time_ns - open->issued_ns;
		r->queued_ns = open->issued_ns - open->queued_ns;
		r->sector = open->sector;
		r->flags = block_flags(request, error) | open->flags;
		r->cgroup = open->cgroup;
		r->ctx = open->ctx;
		ring_publish(&place, r, 2);
	}
	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}
