/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a thread: a state machine over the records of one thread that
 * accounts every nanosecond between the first and the last of them.
 *
 * A life can begin in the middle, as a chunk does. Until a record determines the
 * state of the thread by itself, the life is not *settled*: its records are kept,
 * not applied. Such a record (the end of a syscall, a switch out of user mode, ...)
 * settles it: the state after it does not depend on what was before. The kept
 * records, up to and including that one, are the *head* of the life. A join feeds
 * the head of the right half to the left half. The left half is then in the state in
 * which the right half was settled, so the rest of the right half is taken over
 * unchanged. This makes join(life(a), life(b)) equal to life(a then b), and the join
 * associative.
 *
 * A *visit* is the time of a syscall or of a fault in the kernel. The intervals between
 * records are classified like this:
 * - On a CPU: the record that closes the interval says since when the thread has been
 *   in the kernel, so the border to user code is exact.
 * - Off a CPU: the switch says why the thread left. A waking divides the sleep into
 *   blocked and runnable. A waking can have an earlier time than the switch, if it raced
 *   with the thread going to sleep. Then the thread is runnable from the switch on, if it
 *   went to sleep in the visit in which the waking came; otherwise the waking is void.
 * - Lost records: a thread that had the CPU of the loss may have left the CPU and come back
 *   meanwhile. This time is unknown, and so is the time back to its last record, since the
 *   end of another visit can be among the lost records. Only if all of it was in one visit
 *   that ends later, the time before the loss is known. A runnable thread may have run. A
 *   sleeper that is woken later may have been woken before, and have slept on something
 *   else since. Its sleep from the loss on is unknown, unless a later record shows that the
 *   visit in which it went to sleep continued.
 *
 * Accounted time also goes to its owner, in two separate ledgers: one by the span that is
 * active according to the records of the application, and one by the context that kernel
 * programs saw published.
 */
#ifndef MODEL_LIFE_H
#define MODEL_LIFE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/cause.h"
#include "model/meter.h"
#include "model/turns.h"
#include "model/work.h"
#include "record/record.h"
#include "span/split.h"

/* The meaning of a record for the thread that it is fed to. */
enum life_event {
	LIFE_LEAVES, /* switch: the thread left the CPU */
	LIFE_ENTERS, /* switch: the thread got the CPU */
	LIFE_WAKING,
	LIFE_SYSCALL,
	LIFE_FAULT,
	LIFE_USER,     /* an application record: the thread is in user code */
	LIFE_SNAPSHOT, /* thread: its state in a snapshot */
	LIFE_OUT,      /* cgroup_attach: the thread left the scope of the recording */
	LIFE_LOST,     /* lost: records of one CPU, or of all, among them perhaps of the thread */
	LIFE_EARLIER,  /* an application record of an earlier time, at which it was in user code */
	LIFE_EXECS,    /* exec: during the call, its program is replaced by another */
	LIFE_RUNS,  /* switch: it keeps the CPU (LEAVE_running), or is not recorded further (untold)
		     */
	LIFE_NAMES, /* span_attach, after LIFE_EARLIER: the owner from then on */
};

/* The waking of a thread, as in record_waking. */
struct life_wake {
	bool has;
	bool queued; /* WAKE_QUEUED */
	bool own;    /* WAKE_OWN */
	u8 zero;     /* no padding: a kept span is packed word by word, and unset bytes differ */
	u32 fd;	     /* record_waking.fd */
	u64 time_ns;
	u32 waker_tid;
	u8 context, vector;
	u16 irq;
	struct file_ref file;
	u64 block;
};

/* The number of a call that no record has named: of a stay whose begin was not seen. */
#define LIFE_CALL_UNKNOWN 0xffff

/*
 * Which thread had the CPU until the one that waited for it got it, by its tid; 0: not known. The
 * switch that ends a wait tells it, so no other record is needed. A tid 0 is an idle CPU.
 */
#define LIFE_HAD_CPU(tid) ((u32)(tid) + 1)

/* One stay off the CPU. */
struct life_wait {
	u64 begin_ns, end_ns;
	u64 visit_ns;		   /* begin of the syscall or fault around it, 0: none or unknown */
	u16 nr;			   /* or LIFE_CALL_UNKNOWN */
	u8 mode;		   /* enum record_mode and MODE_* flags */
	u8 state;		   /* enum record_leave_state */
	u8 part;		   /* enum split_part of the time before the waking */
	u8 work;		   /* enum work: whether that time waited for work */
	bool unsure;		   /* records were lost: it may be several stays */
	struct life_wake wake;	   /* the waking that ended it, if it was seen */
	const char *reason;	   /* the reason for the part; static */
	u64 arg0;		   /* the first argument of the syscall around it */
	u32 had_cpu;		   /* see LIFE_HAD_CPU() */
	const struct turns *turns; /* of the CPU that it got; NULL: not told */
	struct file_ref file;
	struct context ctx;
	struct split split;
};

/*
 * The address of the futex word on which the thread slept; 0: it did not sleep on one, or it is not
 * known. The waking tells it. In its absence it is the first argument of the call.
 */
u64 life_wait_word(const struct life_wait *w);

/* A finished syscall or fault. */
struct life_visit {
	u64 begin_ns, end_ns;
	const struct record_syscall *syscall; /* or */
	const struct record_fault *fault;
	bool plain; /* all of its time is SPLIT_kernel, as in most visits */
	u8 work;    /* enum work of the last wait in it that waited for work */
	struct split split;
	struct work_split idle; /* of that, waits for work under no context */
};

/* Time of a thread that belongs to a span. */
struct life_share {
	struct context ctx;
	u32 tid; /* the tid of the thread at its end */
	u64 begin_ns, end_ns;
	struct split split;
};

struct life;

/* Callbacks for the results of a life. `arg` is the first argument of each. */
struct life_sink {
	void *arg;
	void (*wait)(void *arg, const struct life *l, const struct life_wait *wait);
	void (*visit)(void *arg, const struct life *l, const struct life_visit *visit);
	/* a span of the application, or (all zero) none, was active on the thread */
	void (*owned)(void *arg, const struct life *l, const struct life_share *share);
	/* a context was seen published */
	void (*sighted)(void *arg, const struct life *l, const struct life_share *share);
	/*
	 * No record to the left says which span was active before the first record that names one,
	 * or before the end. All zero: the published contexts do not say it either.
	 */
	void (*unnamed)(void *arg, const struct life *l, const struct life_share *share);
};

enum life_place { LIFE_UNSEEN, LIFE_ON_CPU, LIFE_OFF_CPU, LIFE_GONE };

/* How the thread left the CPU. */
struct life_leave {
	u64 time_ns;
	u64 visit_ns; /* when it had left user mode; 0: in user mode, or unknown */
	u64 arg0;
	u16 nr;
	u8 mode, state;
	bool fresh; /* a new thread that has not run yet */
	struct file_ref file;
	struct context ctx;
};

/*
 * The part of a visit that belongs to a fault which is open in it, if there is one. The record at
 * the end of the fault gives its begin. A switch says whether a fault is open; a switch without one
 * resets this.
 */
struct life_nested {
	u64 from_ns;  /* begin of the first stay off the CPU in `had`, 0: none */
	u64 doubt_ns; /* the time before this was not seen completely; 0: it was */
	struct split had;
};

/*
 * A stay off the CPU that has ended, but whose result depends on the next record. If the leave of
 * the state has no time, the begin of the stay was not seen, and its cause is unknown.
 */
struct life_stay {
	u64 begin_ns, end_ns; /* its leave is still in the state; end_ns 0: there is none */
	u64 doubt_ns; /* from here to the waking it may have run and slept again; 0: no doubt */
	u64 woken_ns; /* up to here it was blocked by the cause of its leave */
	u64 known_ns; /* and up to here it was runnable */
	u32 had_cpu;  /* LIFE_HAD_CPU() */
	struct life_wake wake;
};

/* The state that the next record needs. */
struct life_state {
	enum life_place place;
	u64 last_ns;		 /* all time before is accounted */
	struct life_leave leave; /* with LIFE_OFF_CPU, or with a held stay */
	struct life_wake wake;
	u64 visit_ns;	    /* the visit to the kernel to which visit_had belongs, 0: none */
	u64 visit_guess_ns; /* not 0: its begin is unknown, but before this */
	struct split visit_had;
	struct work_split visit_idle; /* of that, waits for work under no context */
	u8 visit_work;		      /* enum work of the last of these */
	struct life_nested nested;
	/*
	 * Losses since last_ns that may concern the thread: from the begin of the first to the
	 * end of the last one, whether they overlap or were cut. None: both 0.
	 */
	u64 doubt_from_ns, doubt_to_ns;
	u64 slept_from_ns; /* with a waking: begin of the losses before it; 0: none */
	struct life_stay held;
	struct turns held_turns;
	/*
	 * The time of an exec, with which the spans of the old program end. Later records account
	 * the time up to it; exec_ns is 0 afterwards.
	 */
	u64 exec_ns;
	u32 exec_tid; /* its tid before that */
	u16 cpu;      /* with LIFE_ON_CPU: the CPU, or LIFE_CPU_UNKNOWN */
	bool out;     /* with LIFE_GONE: it continues out of the scope of the recording */
	bool missed;  /* with LIFE_UNSEEN: an earlier time of user code is known */
	u8 calls;     /* enum life_calls */
};
#define LIFE_CPU_UNKNOWN 0xffff

/*
 * Whether calls of a thread are recorded since its last record. Records of applications do not say
 * it: the time on a CPU up to one of them is user code, or user code and calls.
 */
enum life_calls {
	LIFE_CALLS_OPEN, /* not known: it counts as told */
	LIFE_CALLS_TOLD,
	LIFE_CALLS_UNTOLD
};

/* The contexts that were seen published before an owner was named. */
struct life_guess {
	struct context ctx; /* all zero: none */
	bool several;	    /* there were others, too */
};

/* A ledger of time by its owner: one for active spans, one for sighted contexts. */
struct life_ledger {
	bool known;		 /* an owner was named since the life was settled */
	struct context owner;	 /* with `known`; all zero: no owner */
	struct context first;	 /* the first owner that was named */
	u64 since_ns;		 /* when the owner was named last */
	u64 first_ns;		 /* when `first` was named */
	u32 first_tid;		 /* the tid of the thread then */
	struct split head;	 /* time before that, whose owner a left half knows */
	struct split open;	 /* time since since_ns; with !known, since the begin */
	struct life_guess guess; /* in the ledger of active spans: before `first` was named */
};

/*
 * Waits for work under no context, by their causes: idle time, where no record of the application
 * says that a span had the thread. Its totals have it under the causes until a partial is finished.
 */
struct life_idle {
	struct work_split known; /* no span had the thread */
	struct work_split head;	 /* before an owner was named first: a left half knows it */
	struct work_split open;	 /* since an owner was named last; else since the begin */
};

struct life {
	u32 tid;	/* its tid at the end */
	u32 left_tid;	/* its tid at the begin, which an exec of another thread than the leader
			   changes */
	u64 renamed_ns; /* when it got `tid` by an exec; 0: it always had it */
	u32 pid;	/* the last known one, 0: none */
	bool settled;
	bool doubted; /* not settled, and a loss was fed */
	bool born;    /* its begin was seen: no left half joins it */
	bool entered; /* with `born`: it had existed before, out of the scope of the recording */
	bool severed; /* a gap, or another life of its tid, is to its left: no left half joins it */
	u64 origin_ns;		      /* begin of its accounting, once born or anchored; else 0 */
	u64 start_ns;		      /* start time, 0: unknown */
	u64 clip_from_ns, clip_to_ns; /* only the time between is accounted; 0: no limit */
	u64 first_ns, last_ns;	      /* times of its first and last record */
	u64 exit_ns;		      /* when its exit began; 0: not seen */
	s32 exit_code;		      /* with exit_ns: as wait() reports it */
	/* of the caller: losses before its first record, and losses that were fed to it */
	u32 losses_before, losses_seen;
	u32 told;	/* of the caller: records that were fed to it */
	u8 begin_calls; /* of the caller: enum life_calls at its begin, if that was not seen */
	u8 *head;	/* the kept records; owned */
	size_t head_bytes, head_space;
	struct life_state state;
	struct meter *meter; /* of the caller, which lives as long; NULL: none */
	struct split total;
	struct life_ledger active, seen;
	struct life_idle idle;
	/* of the caller: its user and its cpu time while threads were recorded under spans only */
	s64 doubtful_ns, doubtful_cpu_ns;
};

/* Begins a life whose begin was not seen. */
void life_init(struct life *l, u32 tid);

/*
 * Makes a life without records that is to the left of `l`, with the tid, limits and losses that `l`
 * has at its begin, so that `l` can be joined to it.
 */
void life_init_left_of(struct life *left, const struct life *l);

/* Begins the life of a thread that was made at time_ns. It is runnable until it runs. */
void life_init_born(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns);

/* Begins the life of a thread that existed before, and is recorded from time_ns on. */
void life_init_entered(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns);

/* Frees the memory of a life. NULL and a life of zeros are allowed. */
void life_free(struct life *l);

/*
 * Feeds one record, in order of time. `r` is borrowed during the call. Calls `sink` for the
 * results that the record completes. 0 or -ENOMEM.
 */
int life_feed(struct life *l, enum life_event event, const struct record_head *r,
	      const struct life_sink *sink);

/* The thread begins its exit: from here on it is in the kernel until it is dead. */
void life_exits(struct life *l, const struct record_exit *r);

/*
 * The application made `ctx` (all zero: none) the active span. Feed LIFE_USER with the same
 * record first.
 */
void life_active(struct life *l, const struct context *ctx, const struct life_sink *sink);

/*
 * Joins `right`, which follows `left` in time, into `left`, and frees `right`.
 * 0 or -ENOMEM.
 */
int life_join(struct life *left, struct life *right, const struct life_sink *sink);

/*
 * No left half will come: applies the head to an unknown state, and accounts from from_ns
 * on. Does nothing to a life whose begin is known. 0 or -ENOMEM.
 */
int life_anchor(struct life *l, u64 from_ns, const struct life_sink *sink);

/*
 * Ends a life for a final answer over [from_ns, to_ns]: applies its head to an unknown
 * state, and accounts its last interval up to to_ns. 0 or -ENOMEM.
 */
int life_finish(struct life *l, u64 from_ns, u64 to_ns, const struct life_sink *sink);

/* A kept record. Starts with all zero. */
struct life_head_record {
	size_t next;
	enum life_event event;
	void *record; /* of the life */
};

/* Goes on to the next kept record, which the caller may change. False: there is none. */
bool life_head_next(const struct life *l, struct life_head_record *at);

/* Whether a head from an untrusted source is one that a life could have kept. */
bool life_head_valid(const struct life *l);

/*
 * Normalizes the losses in the head: after each record, there is one loss for each CPU that reaches
 * beyond it, independent of how many were fed. The result of every join stays the same. 0 or
 * -ENOMEM.
 */
int life_head_order(struct life *l);

/* Accounts [from, to), within the limits of the life, as unknown. */
void life_unknown(struct life *l, u64 from_ns, u64 to_ns);

/*
 * The time up to which the state of a settled life is known. A loss after it leaves time in doubt.
 * A sleeper slept until it was woken.
 */
static inline u64 life_doubt_since(const struct life_state *s)
{
	bool woken = s->place == LIFE_OFF_CPU && s->wake.has;

	return woken && s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
}

/* Whether a thread that left its CPU in this state has to be woken. */
static inline bool life_leave_sleeps(u8 state)
{
	return state != LEAVE_preempted && state != LEAVE_throttled && state != LEAVE_dead;
}

static inline bool context_is_none(const struct context *c)
{
	u64 a, b;

	__builtin_memcpy(&a, c->span, 8);
	__builtin_memcpy(&b, c->trace, 8);
	return a == 0 && b == 0;
}

static inline bool context_equal(const struct context *a, const struct context *b)
{
	return __builtin_memcmp(a, b, sizeof(*a)) == 0;
}

#endif
