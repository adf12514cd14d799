/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * User memory of a thread that is asleep, as far as it is in memory. The kernel's helper
 * for that brings pages in, and so waits for whoever has them: a file system or a handler
 * of faults that the program itself is, and that never answers. It waits where nobody
 * can end it, and the host's other BPF programs wait with it.
 *
 * So the page tables are walked here, which never waits. They hold physical addresses,
 * and where the kernel sees those is not told: it is looked for with two things whose
 * addresses are known. Only the true place leads through the kernel's tables to both.
 *
 * The program's tables may be freed and written by others meanwhile. So nothing is read that
 * the kernel's own tables do not show as ordinary memory. But what is read can be anything
 * then: use it only if the thread did not run, and for what is checked otherwise.
 */
#ifndef BPF_RESIDENT_H
#define BPF_RESIDENT_H

#include "bpf/kernel.h"

/* The memory of a process, and the physical place of the page that was last looked up. */
struct resident {
	u64 own;   /* the topmost page table of who reads: its upper half is the kernel's */
	u64 top;   /* that of the thread */
	u64 page;  /* number + 1; 0: none yet */
	u64 at;	   /* where the kernel sees it, if found is RESIDENT_HERE */
	s64 found; /* enum resident_found */
};

enum resident_found {
	RESIDENT_HERE,
	RESIDENT_NONE,	    /* nothing is mapped, or nothing of the kernel's memory */
	RESIDENT_ELSEWHERE, /* swapped out, on its way, or it cannot be read here */
};

#ifdef __TARGET_ARCH_x86

#define RESIDENT_PRESENT (1 << 0)
#define RESIDENT_USER (1 << 2)
#define RESIDENT_LARGE (1 << 7)
#define RESIDENT_CLOSED (1 << 8)  /* where not present: without access, its address is inverted */
#define RESIDENT_SPECIAL (1 << 9) /* the page of zeros, or no memory of the kernel's */
#define RESIDENT_PAGE_BITS 12
#define RESIDENT_LEVELS 5
#define RESIDENT_LOW (1 << 20) /* below lie devices, too */
#define RESIDENT_GIB (1ull << 30)
#define RESIDENT_TRIES (1 << 13) /* of 1 GiB: no machine has a table higher up in memory */
#define RESIDENT_SEARCHES 4

/* With five levels the kernel's half begins lower; where its view of memory begins at the earliest.
 */
#define RESIDENT_FOUR_LEVELS 0xffff800000000000
#define RESIDENT_LOWEST_4 0xffff880000000000
#define RESIDENT_LOWEST_5 0xff10000000000000

/* The kernel's address of physical address 0. */
u64 resident_base = 0;
u32 resident_searches = 0;

static __always_inline bool resident_five(u64 top)
{
	return top < RESIDENT_FOUR_LEVELS;
}

/* An entry's physical address; the bits above it can tell that the memory is encrypted. */
static __always_inline u64 resident_physical(u64 entry, bool five, u32 bits)
{
	return entry & (five ? (1ull << 51) - 1 : (1ull << 46) - 1) & ~((1ull << bits) - 1);
}

/*
 * The kernel's address of a physical address, if that of 0 is `base`; 0: it is no ordinary memory.
 * `own` is never a table that can be freed.
 */
static __noinline u64 resident_place(u64 own, u64 base, u64 physical)
{
	u64 address = base + physical, table = own, entry = 0;
	bool five = resident_five(own);
	u32 bits = five ? 48 : 39;

	if (physical < RESIDENT_LOW)
		return 0;
#pragma unroll
	for (int level = 0; level < RESIDENT_LEVELS; level++) {
		if (bpf_probe_read_kernel(&entry, sizeof(entry),
					  (void *)(table + (address >> (bits & 63) & 511) * 8)) ||
		    !(entry & RESIDENT_PRESENT))
			return 0;
		if (bits == RESIDENT_PAGE_BITS || (bits <= 30 && entry & RESIDENT_LARGE))
			break;
		table = base + resident_physical(entry, five, RESIDENT_PAGE_BITS);
		bits -= 9;
	}
	bits &= 63;
	return (resident_physical(entry, five, bits) | (address & ((1ull << bits) - 1))) == physical
		       ? address
		       : 0;
}

struct resident_search {
	u64 own, task;
};

/* Is the base so many GiB below the table? 1: no more to try. */
static long resident_try(u32 index, void *arg)
{
	const struct resident_search *s = arg;
	u64 base = (s->own & ~(RESIDENT_GIB - 1)) - index * RESIDENT_GIB;

	if (base < (resident_five(s->own) ? RESIDENT_LOWEST_5 : RESIDENT_LOWEST_4))
		return 1;
	if (!resident_place(s->own, base, s->own - base) ||
	    !resident_place(s->own, base, s->task - base))
		return 0;
	resident_base = base;
	return 1;
}

/* Prepares reading a thread's memory. False if it cannot be read here. */
static __always_inline bool resident_begin(struct resident *r, struct task_struct *task)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct resident_search search = {};

	__builtin_memset(r, 0, sizeof(*r));
	r->own = (u64)BPF_CORE_READ(reader, mm, pgd);
	r->top = (u64)BPF_CORE_READ(task, mm, pgd);
	if (!r->own || !r->top)
		return false;
	search.own = r->own;
	search.task = (u64)BPF_CORE_READ(reader, group_leader); /* as a mere number */
	if (!resident_base && resident_searches < RESIDENT_SEARCHES) {
		resident_searches++;
		bpf_loop(RESIDENT_TRIES, resident_try, &search, 0);
	}
	return resident_base != 0;
}

/* Looks for the page; sets `at`. */
static __noinline long resident_find(struct resident *r)
{
	u64 address = (r->page - 1) << RESIDENT_PAGE_BITS, table = r->top, entry = 0, in_page;
	bool five = resident_five(r->own), leaf = false;
	u32 bits = five ? 48 : 39;

#pragma unroll
	for (int level = 0; level < RESIDENT_LEVELS; level++) {
		if (bpf_probe_read_kernel(&entry, sizeof(entry),
					  (void *)(table + (address >> (bits & 63) & 511) * 8)))
			return RESIDENT_ELSEWHERE;
		if (!entry)
			return RESIDENT_NONE;
		leaf = bits == RESIDENT_PAGE_BITS || (bits <= 30 && entry & RESIDENT_LARGE);
		if (leaf)
			break;
		if (!(entry & RESIDENT_PRESENT))
			return RESIDENT_ELSEWHERE;
		table = resident_place(r->own, resident_base,
				       resident_physical(entry, five, RESIDENT_PAGE_BITS));
		if (!table)
			return RESIDENT_ELSEWHERE;
		bits -= 9;
	}
	bits &= 63;
	in_page = (1ull << bits) - 1;
	if (!(entry & (entry & RESIDENT_PRESENT ? RESIDENT_USER : RESIDENT_CLOSED)))
		return RESIDENT_ELSEWHERE;
	if (entry & RESIDENT_SPECIAL)
		return RESIDENT_NONE;
	if (!(entry & RESIDENT_PRESENT))
		entry = ~entry;
	r->at = resident_place(r->own, resident_base,
			       resident_physical(entry, five, bits) | (address & in_page));
	return r->at ? RESIDENT_HERE : RESIDENT_ELSEWHERE;
}

/* Reads an aligned word. RESIDENT_HERE if it was read, else why not. */
static __always_inline long resident_read(struct resident *r, u64 address, u64 *value)
{
	u64 page = (address >> RESIDENT_PAGE_BITS) + 1;

	if (address & 7)
		return RESIDENT_ELSEWHERE;
	if (r->page != page) {
		r->page = page;
		r->found = resident_find(r);
	}
	if (r->found == RESIDENT_HERE &&
	    bpf_probe_read_kernel(value, sizeof(*value),
				  (void *)(r->at + (address & ((1 << RESIDENT_PAGE_BITS) - 1)))))
		return RESIDENT_ELSEWHERE;
	return r->found;
}

#else /* other machines have other tables */

static __always_inline bool resident_begin(struct resident *r, struct task_struct *task)
{
	return false;
}

static __always_inline long resident_read(struct resident *r, u64 address, u64 *value)
{
	return RESIDENT_ELSEWHERE;
}

#endif

#endif
