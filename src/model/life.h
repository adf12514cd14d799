/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a thread: a state machine over the records of one thread that
 * accounts every nanosecond between the first and the last of them.
 *
 * A life can begin in the middle, since a chunk does. Until a record says by
 * itself what state the thread is in, the life is not *settled*: its records
 * are kept, not applied. That record (the end of a syscall, a switch out of
 * user mode, ...) settles it: whatever was before, the state after it is the
 * same. The kept records, up to and including that one, are the *head* of the
 * life. Joining two halves feeds the head of the right one to the left one,
 * which is then in the very state in which the right one was settled; so the
 * rest of the right half can be taken over as it is. This makes
 * join(life(a), life(b)) equal to life(a then b), and join associative.
 *
 * How the intervals between records are told apart:
 * - On a CPU: the record that closes the interval says since when the thread
 *   has been in the kernel, so the border to user code is exact.
 * - Off a CPU: the switch says why it left; a waking divides the sleep into
 *   blocked and runnable. A waking can carry an earlier time than the switch
 *   (it raced with the thread going to sleep): then the thread is runnable
 *   from the switch on, if it went to sleep in the very kernel visit in which
 *   the waking came; else the waking is void.
 *
 * - Records that were lost: a thread that had the CPU concerned may have left it
 *   and come back meanwhile, so that this time is unknown, and so is what lies
 *   before, back to its last record, unless it was all in the one visit that ends
 *   later: the end of another can be among what was lost. A thread that was
 *   runnable may have run. A sleeper that is woken later may have been woken before, and have
 *   slept on something else since: what it slept from the loss on is unknown, unless the visit in
 *   which it went to sleep is seen to go on behind.
 *
 * Time accounted also goes to who owns it, in two ledgers that are kept apart:
 * the span that is active by the application's own records, and the context
 * that kernel programs saw published.
 */
#ifndef MODEL_LIFE_H
#define MODEL_LIFE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/cause.h"
#include "record/record.h"
#include "span/split.h"

/* What a record means to the thread that it is fed to. */
enum life_event {
	LIFE_LEAVES, /* switch: the thread left the CPU */
	LIFE_ENTERS, /* switch: the thread got the CPU */
	LIFE_WAKING,
	LIFE_SYSCALL,
	LIFE_FAULT,
	LIFE_USER,     /* an application record: the thread is in user code */
	LIFE_SNAPSHOT, /* thread: its state as /proc told it */
	LIFE_OUT,      /* cgroup_attach: the thread left the scope of the recording */
	LIFE_LOST,     /* lost: records of one CPU, or of all; the thread may have had some */
	LIFE_EARLIER,  /* an application record from before: it was in user code */
	LIFE_EXECS,    /* exec: in the middle of a call, its program becomes another */
	LIFE_RUNS,  /* switch: it keeps the CPU (LEAVE_running), or is told of no more (untold) */
	LIFE_NAMES, /* span_attach, behind LIFE_EARLIER: whose time it is from then on */
};

/* As in record_waking. */
struct life_wake {
	bool has;
	u64 time_ns;
	u32 waker_tid;
	u8 context, vector;
	u16 irq;
	struct file_ref file;
	u64 block;
};

/* One stay off the CPU. */
struct life_wait {
	u64 begin_ns, end_ns;
	u64 visit_ns; /* begin of the syscall or fault it lies in, 0 if none or not known */
	u16 nr;
	u8 mode;	       /* enum record_mode and MODE_* flags */
	u8 state;	       /* enum record_leave_state */
	u8 part;	       /* enum split_part of the time before the waking */
	bool unsure;	       /* records were lost: it may have been several */
	struct life_wake wake; /* what ended it, if that was seen */
	const char *reason;    /* why it is that part; static */
	struct file_ref file;
	struct context ctx;
	struct split split;
};

/* A finished syscall or fault. */
struct life_visit {
	u64 begin_ns, end_ns;
	const struct record_syscall *syscall; /* or */
	const struct record_fault *fault;
	bool plain; /* all of its time is SPLIT_kernel, as of nearly all */
	struct split split;
};

/* Time of a thread that belongs to a span. */
struct life_share {
	struct context ctx;
	u32 tid; /* the number of the thread at its end */
	u64 begin_ns, end_ns;
	struct split split;
};

struct life;

/* What a life tells as it goes on. `arg` comes first in each call. */
struct life_sink {
	void *arg;
	void (*wait)(void *arg, const struct life *l, const struct life_wait *wait);
	void (*visit)(void *arg, const struct life *l, const struct life_visit *visit);
	/* the application's span, or (all zero) none, was active on the thread */
	void (*owned)(void *arg, const struct life *l, const struct life_share *share);
	/* the context was seen published */
	void (*sighted)(void *arg, const struct life *l, const struct life_share *share);
	/*
	 * Nothing lies to the left, so no record says which span was active up to the first that
	 * names one, or to the end. All zero: what was seen published then does not say it either.
	 */
	void (*unnamed)(void *arg, const struct life *l, const struct life_share *share);
};

enum life_place { LIFE_UNSEEN, LIFE_ON_CPU, LIFE_OFF_CPU, LIFE_GONE };

/* How the thread left the CPU. */
struct life_leave {
	u64 time_ns;
	u64 visit_ns; /* when it had left user mode; 0: in user mode, or not known */
	u64 arg0;
	u16 nr;
	u8 mode, state;
	bool fresh; /* a new thread that has not run yet */
	struct file_ref file;
	struct context ctx;
};

/*
 * Of the visit, what belongs to the fault that is open in it, if one is: its begin is known only
 * from its record at its end. That it is open a switch says, so one without it begins this anew.
 */
struct life_nested {
	u64 from_ns;  /* begin of the first stay off the CPU in `had`, 0: none */
	u64 doubt_ns; /* what lies before was not seen whole, 0: nothing */
	struct split had;
};

/*
 * A stay off the CPU that is over, and not yet told: part of it hangs on what comes next. If the
 * state's leave has no time, it was not seen how it began, nor is it known what it was.
 */
struct life_stay {
	u64 begin_ns, end_ns; /* its leave is the state's still; end_ns 0: there is none */
	u64 doubt_ns; /* from here to the waking it may have run and slept again; 0: it did not */
	u64 woken_ns; /* until then it was off the CPU for the reason told */
	u64 known_ns; /* and until then it was runnable */
	struct life_wake wake;
};

/* The state: what the next record needs to know of the ones before. */
struct life_state {
	enum life_place place;
	u64 last_ns;		 /* everything before is accounted */
	struct life_leave leave; /* with LIFE_OFF_CPU, or a stay that is held */
	struct life_wake wake;
	u64 visit_ns;	    /* the visit to the kernel to which visit_had belongs, 0: none */
	u64 visit_guess_ns; /* not 0: its begin is not known, but lies before this */
	struct split visit_had;
	struct life_nested nested;
	/*
	 * Losses since last_ns that may concern the thread: from the begin of the first to the
	 * end of the last one, however they lap over and were cut. None: both 0.
	 */
	u64 doubt_from_ns, doubt_to_ns;
	u64 slept_from_ns; /* with a waking: where losses before it began, 0: there was none */
	struct life_stay held;
	/*
	 * It became another program, with which the spans of the one before end. What it did up
	 * to then is told by records to come; exec_ns is 0 once it was accounted.
	 */
	u64 exec_ns;
	u32 exec_tid; /* its number before that */
	u16 cpu;      /* with LIFE_ON_CPU: where, LIFE_CPU_UNKNOWN if not known */
	bool out;     /* with LIFE_GONE: it lives on, out of the scope of the recording */
	bool missed;  /* with LIFE_UNSEEN: it was in user code since the begin */
};
#define LIFE_CPU_UNKNOWN 0xffff

/* What was seen published while nobody was named. */
struct life_guess {
	struct context ctx; /* all zero: nothing */
	bool several;	    /* others, too */
};

/* Who owns the time: one ledger for active spans, one for sighted contexts. */
struct life_ledger {
	bool known;		 /* an owner was named since the life was settled */
	struct context owner;	 /* with known; all zero: nobody */
	struct context first;	 /* the owner that was named first */
	u64 since_ns;		 /* when the owner was named last */
	u64 first_ns;		 /* when `first` was named */
	u32 first_tid;		 /* the number of the thread then */
	struct split head;	 /* time before that, whose owner lies to the left */
	struct split open;	 /* time since the last naming; with !known since the begin */
	struct life_guess guess; /* of active spans: before `first` was named */
};

struct life {
	u32 tid;	/* its number at the end */
	u32 left_tid;	/* its number at the begin: exec from a second thread changes it */
	u64 renamed_ns; /* when it got `tid` by an exec, 0: it always had it */
	u32 pid;	/* last known, 0: none */
	bool settled;
	bool doubted;  /* not settled: it was told of a loss */
	bool born;     /* its begin was seen: nothing joins it from the left */
	bool entered;  /* born: it had lived before, out of the scope of the recording */
	bool severed;  /* a gap, or another life of its number, lies to its left: likewise */
	u64 origin_ns; /* where its accounting begins, once settled by unseen_fork or anchored; else
			  0 */
	u64 start_ns;  /* start time, 0: not known */
	u64 clip_from_ns, clip_to_ns; /* only time between is accounted; 0: no limit */
	u64 first_ns, last_ns;	      /* times of its first and last record */
	u64 exit_ns;		      /* when it began to end, 0: that was not seen */
	s32 exit_code;		      /* with exit_ns: as wait reports it */
	/* The caller's: how many losses there were before its first record, and it was told of. */
	u32 losses_before, losses_seen;
	u32 told; /* likewise: how many records */
	u8 *head; /* kept records while it was not settled; owned */
	size_t head_bytes, head_space;
	struct life_state state;
	struct split total;
	struct life_ledger active, seen;
	s64 doubtful_ns; /* the caller's: of its user time, what was recorded with a filter */
};

/* A life of which the begin was not seen. */
void life_init(struct life *l, u32 tid);

/*
 * What stands to the left of `l` and has no record: with its number, limits and losses at the
 * begin, so that `l` can be joined to it.
 */
void life_init_left_of(struct life *left, const struct life *l);

/* A thread that was made at time_ns: it is runnable until it runs. */
void life_init_born(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns);

/* A thread that had lived before, and is recorded from time_ns on. */
void life_init_entered(struct life *l, u32 tid, u32 pid, u64 time_ns, u64 start_ns);

/* Frees what it holds. NULL and a zeroed life are fine. */
void life_free(struct life *l);

/*
 * Feeds one record, in the order of time. `r` need not outlive the call.
 * Returns 0 or -ENOMEM. Calls `sink` for what the record settles.
 */
int life_feed(struct life *l, enum life_event event, const struct record_head *r,
	      const struct life_sink *sink);

/* It begins to end: what it does from here on it does in the kernel, until it is dead. */
void life_exits(struct life *l, const struct record_exit *r);

/*
 * The application says that `ctx` (all zero: none) is active from here on.
 * Feed LIFE_USER with the same record first.
 */
void life_active(struct life *l, const struct context *ctx, const struct life_sink *sink);

/*
 * Joins `right`, which follows `left` in time, into `left`; frees `right`.
 * Returns 0 or -ENOMEM.
 */
int life_join(struct life *left, struct life *right, const struct life_sink *sink);

/*
 * Nothing will come from the left: applies the head on nothing known, and
 * accounts from from_ns on. Does nothing to a life whose begin is known.
 * Returns 0 or -ENOMEM.
 */
int life_anchor(struct life *l, u64 from_ns, const struct life_sink *sink);

/*
 * Ends a life for a final answer over [from_ns, to_ns]: applies its head on
 * nothing known, and accounts its last interval up to to_ns.
 */
int life_finish(struct life *l, u64 from_ns, u64 to_ns, const struct life_sink *sink);

/* Whether a head that was read from elsewhere is one that a life may have kept. */
bool life_head_valid(const struct life *l);

/*
 * Puts the losses in its head into one form: behind each record one of each CPU that reaches over
 * it, however many they were told as. The outcome of no join changes. 0 or -ENOMEM.
 */
int life_head_order(struct life *l);

/* Nothing is known of [from, to): adds what of it lies inside of its limits. */
void life_unknown(struct life *l, u64 from_ns, u64 to_ns);

/*
 * Up to then it is known what a life did that is settled: of a loss, what lies behind leaves it in
 * doubt. A sleeper slept until it was woken.
 */
static inline u64 life_doubt_since(const struct life_state *s)
{
	bool woken = s->place == LIFE_OFF_CPU && s->wake.has;

	return woken && s->wake.time_ns > s->last_ns ? s->wake.time_ns : s->last_ns;
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
