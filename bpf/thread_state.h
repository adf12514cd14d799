/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The state that the programs keep for each thread. */
#ifndef BPF_THREAD_STATE_H
#define BPF_THREAD_STATE_H

#include "bpf/context_location.h"

#define STATE_DECIDED 1
#define STATE_IN 2	   /* in scope */
#define STATE_PENDING 4	   /* in scope from its exec on */
#define STATE_SEEN 8	   /* the snapshot has it */
#define STATE_BY_CGROUP 16 /* in scope as long as it is in a cgroup that was named */
#define STATE_ENTERS 32	   /* claimed: STATE_IN is about to be set */
#define STATE_UNTOLD 64	   /* put in scope by the snapshot, which has not told of it yet */
#define STATE_DESCENDS 128 /* of the command, or of a descendant of it */

/* Whether begins of the thread's calls are seen: 0: none was yet. */
#define CALLED_SEEN 1	   /* a begin or an end was seen, so an open call was seen to begin */
#define CALLED_FORGOTTEN 2 /* an open call slept without a record */

/* How the open call is known; 0: none is open. */
#define IN_SYSCALL_SEEN 1
#define IN_SYSCALL_SOFT 2  /* open before: begin_ns is when recording of the thread began */
#define IN_SYSCALL_FOUND 3 /* likewise, by the snapshot: `found` was not taken over yet */

#define CALLS_UNTOLD 1 /* with calls_since: no record of the thread was written since then */

#define RESTARTS_AGAIN 1 /* it goes on as restart_syscall, and an earlier record told of a part */
#define RESTARTS_OPEN                                                                              \
	3 /* a signal interrupted it: it is open until it goes on, or a handler runs */
#define RESTARTS_FOUND 2 /* found by the snapshot: the thread has not taken `found` over */

/*
 * begin_ns of a call that begins outside of spans, with spans_only. Neither the call nor its waits
 * are recorded, so its time is not read and, unless it changes descriptors, its file is not looked
 * for. These two take most of the time of the program for begins.
 */
#define CALL_UNTOLD_NS 1

/* The fields that every system call touches come first, close together. */
struct thread_state {
	u64 task;     /* the thread that has the place (bpf/state.h); unused elsewhere */
	u64 regs;     /* address of its registers at a call; 0: not known (bpf/caller.h) */
	u64 begin_ns; /* of the open call; 0: not seen, CALL_UNTOLD_NS: not read */
	u32 flags;    /* STATE_*; any CPU changes them, with state_set() and state_clear() */
	u32 held_tid; /* see tid_of() in state.h */
	union {
		struct {
			u16 nr;
			u8 in_syscall; /* IN_SYSCALL_* */
			u8 compat;
			u16 row;    /* of the open call: bpf/call.h */
			u8 newborn; /* it has not returned from the clone that made it */
			u8 called;  /* CALLED_* */
		};
		u64 call; /* all of them, since each begin and end of a call changes them */
	};
	u64 fault_begin_ns;   /* of the open fault; 0: none */
	struct file_ref file; /* of the open call's descriptor */
	struct context ctx;   /* the active span, as it was last read: context_now() */
	u64 bytes_sock; /* TCP socket of the send or receive in progress (net.bpf.c); 0: none */
	u32 location_generation;
	u16 calls_since; /* calls_raised since when its calls are followed, and CALLS_UNTOLD */
	u8 bytes_flags;	 /* BYTES_* */
	u8 restarts;	 /* RESTARTS_*: its last call may go on; 0: it has ended */
	u64 creator_tp;	 /* thread pointer of its creator, which it may share; 0: it has its own */
	u64 record_at;	 /* address of its context record when that was last read; 0: none */
	u64 args[6];	 /* at the begin of the call; only the first is always set */
	struct context_location location;
	u64 bytes_at;	/* position where a send begins, or where a receive ends */
	u64 bytes_left; /* of a send: bytes of the message that remained at bytes_at */
	u64 bytes_told; /* of a send: bytes before bytes_at, which have their own records */
	struct {
		u64 arg0;
		struct file_ref file;
	} found; /* the open call, as the snapshot found it */
	u64 fault_address;
	u64 fault_ip;
	u64 off_ns;	    /* for stacks: when it left its CPU; 0: it runs, or not known */
	u64 stack_told_ns;  /* off_ns of a wait whose stack was recorded before its end */
	u64 stack_since_ns; /* its user stack, unchanged since then, is still to be recorded; 0: no
			     */
	u32 fault_flags;    /* FAULT_* */
	u8 spanned; /* with spans_only: it had a span since the last one was recorded as over */
	u8 stayed;  /* with spans_only: its first stay on a CPU was recorded */
	u8 scope;   /* of detail: the last one that it matches, from 1; 0: none (bpf/detail.h) */
	u8 asked;   /* likewise, calls_asked of the one that was asked for */
	/* where calls are not recorded: the descriptor of its call, and what is open there */
	u32 call_fd;
	u32 told_fd;	     /* the last one of which the name was told, */
	u32 told_generation; /* when (bpf/told.h), */
	u64 told_identity;   /* and what was open there */
	u64 call_identity;
	u32 tid;       /* its number when the state was made, or since its last exec */
	u8 scope_kept; /* of detail: the same without cgroups, which a thread can leave */
	u8 serves;     /* it had a client: a connection that was accepted (bpf/in_request.h) */
	u8 request;    /* it has read a request, and not answered yet */
	u8 pad;
	u64 client_epoll; /* the epoll in which a client ended its sleep last; 0: none did */
	u64 bytes_end_ns; /* of its last call on a Unix socket; 0: none was seen */
	u64 exit_ns;	  /* when its exit began; 0: it has not */
	u64 entered_ns;	  /* when it came into scope during its life; 0: from its begin on */
	u64 light_id, light_maker; /* the light thread that was read last: bpf/light.h; 0: none */
};

#endif
