/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer's ledger: how many records of each kind the programs wrote in which process, and
 * under which span. With what a program takes for a record (map/kernel/costs.h) this is what
 * recording cost them. Only with partial_options.hits. Not thread-safe.
 *
 * A record hits the process on whose time its program ran: of a waking that of the waker, of a
 * switch that of the thread that leaves its CPU. A waking does not tell the waker's process: it is
 * counted by the thread.
 */
#ifndef MAP_KERNEL_HITS_H
#define MAP_KERNEL_HITS_H

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"

struct partial;

#define HITS_RECENT_BITS 8

/* Who was hit by what, as one number: kind of record, and pid or tid; 0: no process. */
static inline u64 hit_key(u8 kind, u32 number)
{
	return (u64)kind << 32 | number;
}

static inline u8 hit_kind(u64 key)
{
	return (u8)(key >> 32);
}

/* With hit_kind() RECORD_waking the tid of the waker, else a pid. */
static inline u32 hit_number(u64 key)
{
	return (u32)key;
}

/* The kinds of records that carry a context. */
#define HIT_KINDS(H) H(switch) H(syscall) H(fault) H(block) H(bytes) H(event) H(uring)
enum hit_slot {
#define H(kind) HIT_##kind,
	HIT_KINDS(H)
#undef H
		HIT_SLOTS
};

struct span_hits {
	struct context ctx;
	u64 counts[HIT_SLOTS];
};

struct hits {
	struct map counts; /* hit_key() -> how many, never 0 */
	struct {
		u64 key, count; /* not in `counts` yet */
	} recent[1 << HITS_RECENT_BITS];
	VEC(struct span_hits) spans; /* finished: by context */
	struct bytes_map index;	     /* struct context -> number in spans + 1 */
	size_t last;		     /* number of the span that was hit last */
};

/* Counts a record of any kind. 0 or -ENOMEM. */
int hits_add(struct partial *p, const struct record_head *r);

/* Puts all that is counted where others find it. 0 or -ENOMEM. */
int hits_settle(struct hits *h);

/* Adds to what was counted. 0 or -ENOMEM. */
int hits_count(struct hits *h, u64 key, u64 count);
int hits_span_add(struct hits *h, const struct span_hits *more);

/* Adds `right`, which is settled by it, to `left`. 0 or -ENOMEM. */
int hits_merge(struct hits *left, struct hits *right);

/* Settles and sorts once nothing more will be added. 0 or -ENOMEM. */
int hits_sort(struct hits *h);

/* The hits under a span, NULL: none. Of a finished partial. */
const struct span_hits *query_span_hits(const struct partial *p, const struct context *ctx);

void hits_free(struct hits *h);

#endif
