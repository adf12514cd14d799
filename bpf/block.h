/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The kernel's types for block I/O, as in bpf/kernel.h. */
#ifndef BPF_BLOCK_H
#define BPF_BLOCK_H

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct block_device {
	u32 bd_dev;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bvec_iter {
	u32 bi_size;
};

struct bio_count {
	int counter;
};

struct bio {
	struct bio *bi_next;
	struct bvec_iter bi_iter;
	struct bio_count __bi_remaining; /* itself, and what was split off and has not ended */
	u32 bi_opf;
	void *bi_private;
};

struct gendisk {
	struct block_device *part0;
};

struct request_queue {
	struct gendisk *disk;
};

struct request;

/* Requests that wait for a flush, and those that the flush under way is for. */
struct blk_flush_queue {
	struct list_head flush_queue[2];
};

struct blk_mq_hw_ctx {
	struct blk_flush_queue *fq;
};

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	int tag, internal_tag;
	struct list_head queuelist;
	struct bio *biotail;
	u32 cmd_flags;
	u32 __data_len;
	u64 __sector;
	struct bio *bio;
	struct block_device *part;
};

#pragma clang attribute pop

#endif
