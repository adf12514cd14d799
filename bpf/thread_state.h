/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs keep of each thread. */
#ifndef BPF_THREAD_STATE_H
#define BPF_THREAD_STATE_H

#include "bpf/context_location.h"

#define STATE_DECIDED 1
#define STATE_IN 2	   /* in scope */
#define STATE_PENDING 4	   /* in scope from its exec on */
#define STATE_SEEN 8	   /* the snapshot has it */
#define STATE_BY_CGROUP 16 /* in scope for as long as it is in a cgroup that was named */
#define STATE_ENTERS 32	   /* somebody is about to set STATE_IN */
#define STATE_UNTOLD 64	   /* let in late by the snapshot, which has not told of it yet */

/* Whether a call that is open now, but is not known, was seen to begin; 0: it was not. */
#define CALLED_SEEN 1	   /* one was seen to begin, or to end: so was one that is open now */
#define CALLED_FORGOTTEN 2 /* it was open before, and slept without being told of */

/* How the open syscall is known; 0: none is open. */
#define IN_SYSCALL_SEEN 1
#define IN_SYSCALL_SOFT 2  /* it was open before: begin_ns is when recording of the thread began */
#define IN_SYSCALL_FOUND 3 /* the same, by the snapshot: the thread has not taken `found` yet */

#define RESTARTS_FOUND 2 /* by the snapshot: the thread has not taken `found` yet */

/*
 * With spans_only a call that begins under no span is not told, nor what it waits for. So it is
 * neither asked when it began nor, unless it changes descriptors, what its file is: that takes
 * more than all else, in most calls of a host.
 */
#define CALL_UNTOLD_NS 1

/* What every system call touches stands first, close together. */
struct thread_state {
	u64 task;     /* whose place it is (bpf/state.h); unused elsewhere */
	u64 regs;     /* in whose stack they are; 0: not known (bpf/caller.h) */
	u64 begin_ns; /* of the open syscall; 0: not seen, CALL_UNTOLD_NS: not asked */
	u32 flags;    /* STATE_*: any CPU changes them, by state_set() and state_clear() */
	u32 held_tid; /* see tid_of() in state.h */
	union {
		struct {
			u16 nr;
			u8 in_syscall; /* IN_SYSCALL_* */
			u8 compat;
			u16 row;    /* of the open syscall: bpf/call.h */
			u8 newborn; /* its return from clone is no syscall of its own */
			u8 called;  /* CALLED_* */
		};
		u64 call; /* the same: each begin and end of a call changes it */
	};
	u64 fault_begin_ns;   /* of the open fault; 0: none */
	struct file_ref file; /* behind its fd */
	struct context ctx;   /* active span, as it was read last: context_now() */
	u64 bytes_sock; /* TCP socket of the send or receive in progress (net.bpf.c); 0: none */
	u32 location_generation;
	u16 bytes_flags; /* BYTES_* */
	u8 restarts;	 /* its last call goes on as restart_syscall, RESTARTS_* */
	u8 stayed;	 /* with spans_only: its first stay on a CPU was told */
	u64 creator_tp; /* its creator's thread pointer: it may have that, too; 0: it has its own */
	u64 record_at;	/* its record, as it was read last; 0: it had none, or none was read */
	u64 args[6];	/* at its entry; only the first is always set */
	struct context_location location;
	u64 bytes_at;	/* position: of a send where it begins, of a receive where it ends */
	u64 bytes_left; /* of a send: what remained of the message at bytes_at */
	u64 bytes_told; /* of a send: what stands before bytes_at, and in records of its own */
	struct {
		u64 arg0;
		struct file_ref file;
	} found; /* by the snapshot, of the call that the thread was in */
	u64 fault_address;
	u64 fault_ip;
	u64 off_ns; /* for stacks: since when it is off its CPU; 0: it is not, or not known */
	u64 stack_told_ns;  /* off_ns of the wait whose stack was told before its end */
	u64 stack_since_ns; /* its user stack is owed, which is the same since then; 0: none is */
	u32 fault_flags;    /* FAULT_* */
	u8 spanned;	    /* with spans_only: it had a span since that was told to be over */
	u8 pad2[3];
	u64 exit_ns;	/* when it began to end; 0: it has not, that is known */
	u64 entered_ns; /* came into scope then, in its life; 0: it was in it from its begin on */
};

#endif
