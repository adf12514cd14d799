/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of sums over calls, requests and waits, and their keys. Each thing that happens is
 * counted once, in one table. A table tells apart what the options ask for (struct sum_choice), and
 * what a key leaves out is 0. So all rows of an answer add up to the same time.
 *
 *   partial.calls       system calls and requests to io_uring. Key: SUM_CALL_* and, from bit 32 on,
 *                       the errno with which they failed. A call that moves data between two files
 *                       is counted for both, for the other one with SUM_CALL_OTHER, and has its
 *                       time once. A page fault that read a file has the key SUM_CALL_NONE
 *   partial.call_waits  the same, for sleeps in calls whose begin is not known
 *   partial.waits       waits. Key: the part of time in bits 0-7 (with SUM_WAIT_IDLE until a
 *                       partial is finished), the call as above from bit 8 on,
 *                       the waker from bit 27 on: its kind (enum record_wake_context) + 1, and from
 *                       bit 32 on the tid of a thread. Waits for a CPU have there
 *                       SUM_WAIT_HAD_CPU, and the thread that had it (0: the CPU was idle).
 *                       If several had it, each has its share of the time, and the wait is counted
 *                       once, for the thread that had the CPU longest
 *   partial.blocks      requests to disks. Key: the device
 *
 * A new dimension is a bit of SUM_BY_*, and a place in a key or a member of struct sum_of.
 */
#ifndef MAP_KERNEL_CALL_SUMS_H
#define MAP_KERNEL_CALL_SUMS_H

#include "map/kernel/sums.h"
#include "model/moves.h"

struct partial;
struct file_use;

/* What sums tell apart. */
#define SUM_BY_NOTHING 1 /* only the causes of waits: calls are not counted at all */
#define SUM_BY_CALL 2
#define SUM_BY_PROCESS 4
#define SUM_BY_FILE 8
#define SUM_BY_ERROR 16
#define SUM_BY_WAKER 32
#define SUM_BY_DEVICE 64
#define SUM_BY_HAD_CPU 128

/* All zero asks for everything. */
struct sum_choice {
	u32 by;	      /* SUM_BY_*; 0: all of it */
	u32 pid, tid; /* not 0: only what this process or thread did */
};

#define SUM_CALL_COMPAT (1ull << 16) /* the number is from the table of 32-bit calls */
#define SUM_CALL_URING (1ull << 17)  /* the number is IORING_OP_* */
#define SUM_CALL_NONE (1ull << 18)   /* a wait in no call */
#define SUM_CALL_MASK ((1ull << 19) - 1)
/*
 * Behind the mask: the other file of a call that is counted with its first one. It has the waits
 * that are its own; where files are not told apart, it is no call.
 */
#define SUM_CALL_OTHER (1ull << 19)
#define SUM_ERROR_SHIFT 32

#define SUM_WAIT_PART_MASK 0xffull
#define SUM_WAIT_IDLE 0x80ull /* with the part: a wait for work under no context */
#define SUM_WAIT_CALL_SHIFT 8
#define SUM_WAIT_WAKER_SHIFT 27
#define SUM_WAIT_WAKER_MASK 7ull
#define SUM_WAIT_HAD_CPU 7ull /* in place of the kind of a waker */
#define SUM_WAIT_TID_SHIFT 32

static inline u64 call_key(u16 nr, bool compat)
{
	return nr | (compat ? SUM_CALL_COMPAT : 0);
}

/* The number of a call, or of a request, in the key of a sum of calls. */
static inline u16 sum_call_nr(u64 key)
{
	return (u16)key;
}

static inline u32 sum_error(u64 key)
{
	return (u32)(key >> SUM_ERROR_SHIFT);
}

/* enum split_part of a sum of waits. */
static inline u8 sum_wait_part(u64 key)
{
	return (u8)(key & SUM_WAIT_PART_MASK);
}

/* Whether the options ask sums to tell this apart (SUM_BY_*). */
bool sums_tell(const struct partial *p, u32 by);

/* Whether the options ask for sums of what this thread does. */
bool sums_choose(const struct partial *p, u32 pid, u32 tid);

/* False for exit and exit_group, which are no spans. */
bool call_returns(u16 nr, bool compat);

/*
 * Whether a wait was in a call that waits for many files or sockets (poll, epoll_wait), and one of
 * them is known to have ended it. A Unix socket may be the other end of the one that was ready.
 */
bool wait_ended_by(const struct life_wait *w, struct file_ref *file);

/* A call or request to be counted. */
struct call_sum {
	u64 key;   /* SUM_CALL_* */
	s64 error; /* its result: negative if it failed */
	u32 pid, tid;
	const struct file_ref *file;
	s32 fd; /* the descriptor of the file; -1: none, or not known */
	u64 begin_ns;
	const struct call_detail *detail; /* the path or peer that it names; NULL: none */
	const struct other_end *other;	  /* its other file; NULL: it has none */
	s32 other_fd;
};

/* The descriptor that a call works on, by its first `known` arguments; -1: none of these. */
s32 call_fd(u8 abi_flags, u16 nr, const u64 *args, int known);

/* Adds bytes that were moved, in a direction of model/moves.h. */
static inline void sum_one_moves(struct sum_one *one, enum moves moves, u64 bytes)
{
	if (moves == MOVES_FROM_FILE)
		one->read_bytes = bytes;
	else if (moves == MOVES_TO_FILE)
		one->written_bytes = bytes;
}

/* Counts a call; `split` NULL: all of its time is SPLIT_kernel. 0 or -ENOMEM. */
int call_sums_add(struct partial *p, const struct call_sum *call, const struct split *split,
		  struct sum_one *one);

/*
 * Counts a page fault that read a mapped file, for that file; where files are not told apart, it is
 * not counted. 0 or -ENOMEM.
 */
int fault_sums_add(struct partial *p, const struct life *l, const struct file_use *use,
		   const struct split *split, const struct sum_one *one);

/* Who had the CPU longest while the thread waited for it: LIFE_HAD_CPU(); 0: not known. */
u32 wait_had_cpu(const struct life_wait *w);

/* Counts a wait: for its cause, and for a CPU after that. 0 or -ENOMEM. */
int wait_sums_add(struct partial *p, const struct life *l, const struct life_wait *w);

/*
 * The keys of the sums of calls and waits to which a wait for a futex belongs, which is counted by
 * futex until the partial is finished (futex.h). `call`: SUM_CALL_*.
 */
struct sum_of call_sum_of_futex(const struct partial *p, u64 call, u32 pid);
struct sum_of wait_sum_of_futex(const struct partial *p, u64 call, u32 pid,
				const struct life_wake *wake);

#endif
