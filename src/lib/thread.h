/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that libfathom keeps for a thread and for the process. Internal to src/lib.
 *
 * A signal handler may interrupt any function and call any function. So data that a thread shares
 * with its handlers is changed by one instruction, or reserved first and filled afterwards.
 */
#ifndef LIB_THREAD_H
#define LIB_THREAD_H

#include <fathom/fathom.h>

#include "lib/app_ring.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define THREAD_FRAMES 64
#define THREAD_READY 0x66746872

/* Orders memory accesses of a thread for its signal handlers: only the compiler could reorder them.
 */
#define signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* An OpenTelemetry thread context record, followed by fields of our own. */
struct frame {
	struct context ctx;
	u8 valid;	/* always 1: a record is only changed while it is not published */
	u8 trace_flags; /* as published */
	u16 attributes_bytes;
	u32 pad;
	struct frame *prev;
	u64 parent;
	u32 process; /* fathom_thread.process of the process that began the span */
	u16 where;   /* place of the span, see fathom_live */
	u8 flags;    /* all flags of the span */
	u8 attached; /* by fathom_span_attach(): the span may be active elsewhere, too */
	u64 token;   /* of the span, see fathom_live */
} __attribute__((aligned(64)));

_Static_assert(__builtin_offsetof(struct frame, valid) == 24, "valid");
_Static_assert(__builtin_offsetof(struct frame, attributes_bytes) == 26, "attributes");
_Static_assert(sizeof(struct frame) == 64, "a cache line");

/*
 * The live frames of all threads: the token of the span in each frame, by lane and index. A thread
 * that ends a span of another thread replaces the token by 0. The other thread then removes the
 * frame when it next looks.
 *
 * A token is the id of the span. A span that the level left out has the id of its parent, so its
 * token is a number like an id. No token is used twice, so an old place of a span cannot be
 * mistaken for the place of another. The table is not in memory that is freed with a thread.
 * `where` of a span is its place plus one; 0: it has none. The last row is for threads without a
 * row of their own, and stays empty.
 */
#define WHERE_ROWS (APP_RING_LANES - 1)
#define WHERE_HIDDEN (WHERE_ROWS * THREAD_FRAMES + 1)
extern u64 fathom_live[(WHERE_ROWS + 1) * THREAD_FRAMES];

/*
 * The state of a thread. The kernel gives this memory to a forked child as zeros, so `ready` also
 * tells whether the thread was forked, by whatever call.
 */
struct fathom_thread {
	u32 ready;
	u32 tid;
	u32 pid;
	u32 process;		   /* a number that no ancestor of this process has */
	u32 told;		   /* the session that has our service record */
	struct app_ring *ring;	   /* never NULL; it may only stand for a ring */
	struct app_lane *lane;	   /* NULL: none was free */
	struct frame **published;  /* this thread's otel_thread_ctx_v1 */
	struct frame *unpublished; /* used instead of it when another library publishes */
	struct frame *top;	   /* the active span, unless it was ended elsewhere */
	u64 *live;		   /* tokens of `frames`: in fathom_live, or `hidden` */
	u32 home;		   /* `where` of frame 0 */
	u32 depth, floor;	   /* see lib/frames.h */
	u32 lane_index;
	u64 id_state, id_gamma, id_key;
	u32 sample_left, sample_pick;
	u64 hidden[THREAD_FRAMES];
	struct frame frames[THREAD_FRAMES];
};

/*
 * State that a forked child must not inherit. It is in a page that the kernel gives to the child as
 * zeros, by whatever call the child was made: in a pid namespace of its own the child may have the
 * pid of its parent. If the kernel does not wipe pages, the pids tell the two apart, as far as they
 * differ.
 */
struct process_own {
	u64 state;  /* pid << 2 | PROCESS_* */
	u32 busy;   /* pid, while a thread changes or copies the identity; else 0 */
	u32 kept;   /* pid, if the identity was not given back for long */
	u32 looked; /* pid, once it has looked for other libraries that publish; else 0 */
};

/* The state that all threads share. It is changed by single atomic stores. */
struct process {
	struct process_own *own;
	struct app_ring *ring;
	u32 begun; /* pid while the process is set up, PROCESS_BEGUN afterwards */
	u32 late;  /* pid, if its start took too long: nobody waits for it any more */
	u32 level;
	u32 disabled;
	u32 generation; /* how many of this process and its ancestors made a ring */
	u32 threads;	/* that use the ring or are about to; never less than the real number */
	u32 version;	/* how often the identity was changed */
	u64 told;	/* version << 32 | the session that has the record of that version */
	u64 sampling;	/* mode << 32 | n; 0: always */
	u64 sampled;	/* SAMPLE_RATE: when the next root may be, ns */
};
#define PROCESS_NONE 0
#define PROCESS_STARTING 1
#define PROCESS_READY 2
#define PROCESS_BEGUN 0xffffffffu
#define PROCESS_PID_BITS 22 /* Linux gives no greater pids: PID_MAX_LIMIT */

enum sample_mode { SAMPLE_ALWAYS, SAMPLE_NEVER, SAMPLE_ONE_IN, SAMPLE_RATE };

extern struct process fathom_process;

/* The library is switched off, or is being unloaded: nothing new is taken into use. */
static inline bool process_is_leaving(void)
{
	return __atomic_load_n(&fathom_process.disabled, __ATOMIC_RELAXED);
}

/*
 * In the static TLS block, also in a library that is opened later: so the variable is found without
 * a call, and is never allocated at its first use. musl has no room there for such libraries.
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

/* Sets the calling thread up. NULL if that is not possible, or not now. */
struct fathom_thread *fathom_thread_enter(void);

static inline struct fathom_thread *thread_get(void)
{
	struct fathom_thread *t = fathom_self;

	return likely(t && t->ready == THREAD_READY) ? t : fathom_thread_enter();
}

/*
 * Returns the record that another copy of the library has published on this thread, since a plugin
 * has the variable of the program. NULL if there is none. Only the fields of OpenTelemetry's record
 * may be read.
 */
const struct frame *fathom_thread_beside(const struct fathom_thread *t);

/* Looks for a lane for a thread that has none. True if it has one now. Keeps errno. */
bool fathom_lane_claim(struct fathom_thread *t);

/* Returns a random number that is unique in the world, never 0. */
static inline u64 thread_id_next(struct fathom_thread *t)
{
	u64 z = t->id_gamma;

	/* one instruction, so that a signal handler in between gets another number */
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

/* Decides about a new root: FATHOM_SAMPLED or 0. */
u8 fathom_sample(struct fathom_thread *t);

#endif
