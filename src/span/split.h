/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time split: every nanosecond belongs to exactly one part.
 *
 * The parts of a span, thread or process sum to its duration, to the
 * nanosecond. Unknown time is a part of its own and is never spread over the
 * others. Values are persisted in partials: they are only ever appended.
 */
#ifndef SPAN_SPLIT_H
#define SPAN_SPLIT_H

#include <stdbool.h>
#include <string.h>

#include "record/record.h"

/* P(part, value, what): also the order in which outputs show them */
#define SPLIT_PARTS(P)                                                                             \
	P(user, 0, "on a CPU in user code")                                                        \
	P(kernel, 1, "on a CPU in a syscall or a fault")                                           \
	P(runnable, 2, "ready to run, waiting for a CPU")                                          \
	P(throttled, 3, "off the CPU because its cgroup used up its CPU quota")                    \
	P(disk, 4, "blocked on storage")                                                           \
	P(network, 5, "blocked on a network peer")                                                 \
	P(lock, 6, "blocked on a lock")                                                            \
	P(timer, 7, "asleep until a time")                                                         \
	P(ipc, 8, "blocked on another program of this host: pipe, eventfd, Unix socket, signal")   \
	P(fault, 9, "blocked in a page fault")                                                     \
	P(child, 10, "blocked until a child ends")                                                 \
	P(other, 11, "blocked on something else that is known")                                    \
	P(off_thread, 12, "no thread had the span")                                                \
	P(unknown, 13, "nothing was seen")                                                         \
	P(cpu, 14, "on a CPU while calls were not recorded: in user code or in the kernel")        \
	P(idle, 15, "outside of spans, waiting for work")

enum split_part {
#define P(part, value, what) SPLIT_##part = value,
	SPLIT_PARTS(P)
#undef P
};
#define SPLIT_PARTS_COUNT 16

/* The name of a part ("off_thread"), NULL if there is no such part. */
static inline const char *split_part_name(unsigned int part)
{
	static const char *const names[SPLIT_PARTS_COUNT] = {
#define P(part, value, what) [value] = #part,
		SPLIT_PARTS(P)
#undef P
	};

	return part < SPLIT_PARTS_COUNT ? names[part] : 0;
}

/* The part of a name, which ends after `bytes`; -1: there is none. */
static inline int split_part_find(const char *name, size_t bytes)
{
	for (unsigned int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		const char *part = split_part_name(i);

		if (strlen(part) == bytes && strncmp(part, name, bytes) == 0)
			return (int)i;
	}
	return -1;
}

/* Nanoseconds of each part. All zero is the split of nothing. */
struct split {
	s64 ns[SPLIT_PARTS_COUNT];
};

/*
 * Adds a split. The parts of one thread are below RECORD_TIME_END_NS. The sum over many threads of
 * a hostile trace can exceed 64 bits. It wraps then, which is still associative.
 */
static inline s64 split_sum(s64 a, s64 b)
{
	return (s64)((u64)a + (u64)b);
}

static inline void split_add(struct split *sum, const struct split *more)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		sum->ns[i] = split_sum(sum->ns[i], more->ns[i]);
}

/*
 * Copies a split that was just written, word by word: a wider load would wait until all words that
 * it covers have left the processor's store buffer.
 */
static inline void split_copy_fresh(struct split *to, const struct split *from)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		to->ns[i] = *(const volatile s64 *)&from->ns[i];
}

/* Undoes split_add() of the same split. */
static inline void split_subtract(struct split *sum, const struct split *less)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		sum->ns[i] = (s64)((u64)sum->ns[i] - (u64)less->ns[i]);
}

/* The time on a CPU. */
static inline s64 split_on_cpu(const struct split *split)
{
	return split_sum(split_sum(split->ns[SPLIT_user], split->ns[SPLIT_kernel]),
			 split->ns[SPLIT_cpu]);
}

/* The same without idle time. */
static inline struct split split_work(const struct split *split)
{
	struct split work = *split;

	work.ns[SPLIT_idle] = 0;
	return work;
}

/* The sum of the parts, which is the duration. */
static inline s64 split_total(const struct split *split)
{
	s64 total = 0;

#pragma GCC unroll 16
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		total = split_sum(total, split->ns[i]);
	return total;
}

/* The duration minus the sum of the parts; negative if the parts are larger. */
static inline s64 split_rest(const struct split *split, u64 duration_ns)
{
	return (s64)(duration_ns - (u64)split_total(split));
}

/* Subtracts `over` from the parts as far as they have it, from the first or from the last on. */
static inline void split_cut(struct split *split, u64 over, bool from_last)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT && over; i++) {
		s64 *ns = &split->ns[from_last ? SPLIT_PARTS_COUNT - 1 - i : i];
		u64 cut = *ns <= 0 ? 0 : (u64)*ns < over ? (u64)*ns : over;

		*ns -= (s64)cut;
		over -= cut;
	}
}

#define P(part, value, what)                                                                       \
	_Static_assert((value) >= 0 && (value) < SPLIT_PARTS_COUNT, #part " is no part");
SPLIT_PARTS(P)
#undef P

#endif
