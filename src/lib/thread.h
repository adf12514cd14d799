/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libfathom keeps for a thread and for the process. Internal.
 *
 * A signal handler may interrupt any function and call any function: whatever
 * is shared between a thread and its handlers is changed by one instruction, or
 * reserved first and filled afterwards.
 */
#ifndef LIB_THREAD_H
#define LIB_THREAD_H

#include <fathom/fathom.h>

#include "lib/app_ring.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define THREAD_FRAMES 64
#define THREAD_READY 0x66746872

/* Between a thread and its handlers the compiler alone must keep the order. */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* An OpenTelemetry thread context record, and our own behind it. */
struct frame {
	struct context ctx;
	u8 valid;	/* always 1: records are changed only while nobody sees them */
	u8 trace_flags; /* as published */
	u16 attributes_bytes;
	u32 pad;
	struct frame *prev;
	u64 parent;
	u32 process; /* which began the span: fathom_thread.process */
	u16 where;   /* of the span: see fathom_live */
	u8 flags;    /* of the span, all of them */
	u8 attached; /* by fathom_span_attach(): the span may be active elsewhere, too */
	u64 token;   /* of the span: see fathom_live */
} __attribute__((aligned(64)));

_Static_assert(__builtin_offsetof(struct frame, valid) == 24, "valid");
_Static_assert(__builtin_offsetof(struct frame, attributes_bytes) == 26, "attributes");
_Static_assert(sizeof(struct frame) == 64, "a cache line");

/*
 * Which frames are alive: the token of the span in each, by lane and index. Whoever ends a
 * span on a thread where it is not active puts a zero in place of its token, and the
 * thread that has the frame takes it away when it next looks. A token is the span's id, and of
 * one that the level left out, which has the id of its parent, a number like one. None is used
 * twice, so an old place of a span cannot be taken for that of another. It is not
 * in memory that goes with its thread. A span's `where` is its place plus one; 0: none.
 * The last row is of all threads for which there is no other, and stays empty.
 */
#define WHERE_ROWS (APP_RING_LANES - 1)
#define WHERE_HIDDEN (WHERE_ROWS * THREAD_FRAMES + 1)
extern u64 fathom_live[(WHERE_ROWS + 1) * THREAD_FRAMES];

/*
 * In memory that the kernel gives to a forked child as zeros, so that `ready`
 * is the check for having been forked, by whatever call.
 */
struct fathom_thread {
	u32 ready;
	u32 tid;
	u32 pid;
	u32 process;		   /* a number that no process has that this one descends from */
	u32 told;		   /* session that was told who we are */
	struct app_ring *ring;	   /* never NULL; one that nobody hears if there is none */
	struct app_lane *lane;	   /* NULL: none was free */
	struct frame **published;  /* this thread's otel_thread_ctx_v1 */
	struct frame *unpublished; /* stands in for it when another library publishes */
	struct frame *top;	   /* the active span, unless it was ended elsewhere */
	u64 *live;		   /* of `frames`: in fathom_live, or `hidden` without a lane */
	u32 home;		   /* `where` of frame 0 */
	u32 depth, floor;	   /* see lib/frames.h */
	u32 lane_index;
	u64 id_state, id_gamma, id_key;
	u32 sample_left, sample_pick;
	u64 hidden[THREAD_FRAMES];
	struct frame frames[THREAD_FRAMES];
};

/*
 * What no forked child has from its parent: a page that the kernel gives to it as zeros, by
 * whatever call it was made, since it may have its parent's pid, in a pid namespace of its own.
 * Where the kernel does not do that the pids tell, as far as they differ.
 */
struct process_own {
	u64 state;  /* pid << 2 | PROCESS_* */
	u32 busy;   /* pid: one of its threads changes or copies the identity; 0: none */
	u32 kept;   /* pid: nobody gave it back for long */
	u32 looked; /* pid: it has looked for others who publish; 0: not yet */
};

/* Shared by all threads; changed by single atomic stores. */
struct process {
	struct process_own *own;
	struct app_ring *ring;
	u32 begun; /* pid of the process that begins, PROCESS_BEGUN once that is done */
	u32 late;  /* pid: its start took too long, nobody waits for it any more */
	u32 level;
	u32 disabled;
	u32 generation; /* of processes, each a child of the one before, that had a ring */
	u32 threads;	/* that use the ring, or are about to: at least as many as there are */
	u32 version;	/* of the identity: how often it was changed */
	u64 told;	/* version << 32 | the last session, which knows that version */
	u64 sampling;	/* mode << 32 | n; 0: always */
	u64 sampled;	/* SAMPLE_RATE: when the next root may be, ns */
};
#define PROCESS_NONE 0
#define PROCESS_STARTING 1
#define PROCESS_READY 2
#define PROCESS_BEGUN 0xffffffffu
#define PROCESS_PID_BITS 22 /* of the numbers that Linux gives: PID_MAX_LIMIT */

enum sample_mode { SAMPLE_ALWAYS, SAMPLE_NEVER, SAMPLE_ONE_IN, SAMPLE_RATE };

extern struct process fathom_process;

/* The library is switched off, or is being unloaded: nothing new is taken into use. */
static inline bool process_is_leaving(void)
{
	return __atomic_load_n(&fathom_process.disabled, __ATOMIC_RELAXED);
}

/*
 * In the static block of thread-local memory, in a library that is opened later, too:
 * found without a call, and never made at the first use, which would allocate.
 * musl has no room there for such libraries.
 */
#ifdef __GLIBC__
#define TLS_STATIC __attribute__((tls_model("initial-exec")))
#else
#define TLS_STATIC
#endif
extern __thread struct fathom_thread *fathom_self TLS_STATIC;

static inline bool thread_is_set_up(void)
{
	return fathom_self && fathom_self->ready == THREAD_READY;
}

/* Sets the calling thread up. NULL if that cannot be done, or not now. */
struct fathom_thread *fathom_thread_enter(void);

static inline struct fathom_thread *thread_get(void)
{
	struct fathom_thread *t = fathom_self;

	return likely(t && t->ready == THREAD_READY) ? t : fathom_thread_enter();
}

/*
 * What another copy of the library has published on this thread, now: in a plugin the variable is
 * the program's. NULL if there is none. Only what OpenTelemetry's record has may be read of it.
 */
const struct frame *fathom_thread_beside(const struct fathom_thread *t);

/* A lane for a thread that has none. True if it has one now. Keeps errno. */
bool fathom_lane_claim(struct fathom_thread *t);

/* A number that no other call in the world returns, never 0. */
static inline u64 thread_id_next(struct fathom_thread *t)
{
	u64 z = t->id_gamma;

	/* One instruction, so that a handler in between gets another number. */
#if defined(__x86_64__)
	__asm__ volatile("xaddq %0, %1" : "+r"(z), "+m"(t->id_state) : : "memory");
#else
	z = __atomic_fetch_add(&t->id_state, z, __ATOMIC_RELAXED);
#endif
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return likely(z) ? z : t->id_key | 1;
}

/* FATHOM_SAMPLED or 0: the decision about a new root. */
u8 fathom_sample(struct fathom_thread *t);

#endif
