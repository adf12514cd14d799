/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of the kernel: system calls, faults, waits, requests. A server has
 * hundreds of thousands in a second, and most of a span's fields are zero or
 * small; so they are kept packed, about 30 bytes each with their place instead of 300, and
 * unpacked one at a time.
 *
 * Not thread-safe; several threads may call kspans_get() at once.
 */
#ifndef MAP_KERNEL_KSPANS_H
#define MAP_KERNEL_KSPANS_H

#include "base/vec.h"
#include "model/life.h"

enum kspan_kind { KSPAN_SYSCALL, KSPAN_FAULT, KSPAN_WAIT, KSPAN_URING, KSPAN_BLOCK };

enum block_arg { BLOCK_ARG_DEV, BLOCK_ARG_SECTOR, BLOCK_ARG_BYTES, BLOCK_ARG_QUEUED_NS };

struct kspan {
	u64 begin_ns, end_ns;
	u32 tid, pid;
	u16 nr;		/* uring: the operation */
	u8 kind;	/* enum kspan_kind */
	u8 part;	/* wait: enum split_part */
	u8 state, mode; /* wait: how it left the CPU; syscall, uring, block: flags in mode */
	u8 open;      /* syscall: it had not returned at the end; wait: it may have been several */
	u8 work;      /* syscall, wait: enum work: whether some of it, or it, waits for work */
	u64 visit_ns; /* wait: begin of the syscall or fault it lies in */
	/* fault: address, ip, flags, offset in its file; uring: fd, IOSQE_*; block: enum block_arg
	 */
	u64 args[6];
	s64 result; /* wait: LIFE_HAD_CPU() of who had the CPU longest */
	struct file_ref file;
	struct context ctx;
	const char *reason;    /* static */
	struct life_wake wake; /* wait: what ended it, if that was seen */
	struct split split;
	struct work_split idle; /* syscall: of that, waits for work under no context */
};

struct kspans_place {
	u64 begin_ns;
	u32 page, at; /* where the packed rest is: the page, and the offset in it */
};

/* Starts with all zero. */
struct kspans {
	VEC(struct kspans_place) places;
	VEC(struct kspans_page *) pages; /* owned */
};

static inline size_t kspans_count(const struct kspans *spans)
{
	return spans->places.count;
}

/* Keeps a copy. 0 or -ENOMEM. */
int kspans_add(struct kspans *spans, const struct kspan *k);

/* A call that did not wait: all of it is SPLIT_kernel. */
struct kspan_call {
	u64 begin_ns, end_ns;
	u32 tid, pid;
	u8 flags; /* SYSCALL_* */
	const struct record_syscall *record;
};

struct kspan kspan_of_call(const struct kspan_call *call);

/* Same as kspans_add() of kspan_of_call(). */
int kspans_add_call(struct kspans *spans, const struct kspan_call *call);

/* Moves the spans of `right`, which is left empty. 0, or -ENOMEM with both as they were. */
int kspans_merge(struct kspans *left, struct kspans *right);

/*
 * Sorts the spans by begin, enclosing ones before those within, and ones with the same times by
 * their other fields, so that the order does not depend on how they came. 0, or -ENOMEM with their
 * order as it was.
 */
int kspans_sort(struct kspans *spans);

/* The span that stands at `index`: roughly by begin as they come, in order once sorted. */
void kspans_get(const struct kspans *spans, size_t index, struct kspan *out);

void kspans_free(struct kspans *spans);

#endif
