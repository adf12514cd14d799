/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A partial: the answers of a stretch of a recording, in a form that joins with those of its
 * neighbours.
 *
 * A partial is made by applying the records of one chunk in order
 * (partial_apply), never needs another chunk, and leaves undecided what only
 * a neighbour can decide:
 * - lives: each thread with the records before it settled (model/life.h);
 * - spans: of the application, and contexts that were only seen published.
 *   Their halves join by id, their time adds up per thread;
 * - facts: forks, names, descriptors, each with its time (map/fact/facts.h). They are kept as
 *   they are and asked when everything is together;
 * - sums: histograms and splits, which add up;
 * - records of a time at which some of its streams had not begun or had ended
 *   already (uneven_cut.c): the neighbour has those of the other streams.
 * partial_merge() is associative, an empty partial is its identity, and for
 * any cut of a trace merge(map(a), map(b)) gives the answers of map(a then b).
 *
 * No thread's state depends on another thread, so each list may be in any order until
 * partial_finish() sorts it.
 *
 * Not thread-safe; different partials may be used by different threads.
 */
#ifndef MAP_PARTIAL_H
#define MAP_PARTIAL_H

#include "base/intervals.h"
#include "base/map.h"
#include "base/vec.h"
#include "map/cpu_turns.h"
#include "map/fact/facts.h"
#include "map/idle.h"
#include "map/kernel/call_details.h"
#include "map/kernel/call_sums.h"
#include "map/kernel/costs.h"
#include "map/kernel/events.h"
#include "map/kernel/hits.h"
#include "map/kernel/kspans.h"
#include "map/kernel/openings.h"
#include "map/kernel/samples.h"
#include "map/kernel/sums.h"
#include "map/loss_index.h"
#include "map/span/filters.h"
#include "map/span/losses.h"
#include "map/span/spans.h"
#include "map/span/unsure.h"
#include "map/uneven_cut.h"
#include "model/life.h"

/* Which spans of the kernel and events are kept; requests to disks are all kept. */
struct kspan_filter {
	bool traced;  /* only what ran under a span */
	u32 pid, tid; /* not 0: only these */
	/* Not NULL: only what ran under a span of one of these; sorted. */
	const u8 (*traces)[16];
	size_t traces_count;
};

/*
 * Each record of a damaged or hostile chunk may name another thread. Beyond so many lives a new one
 * is kept only while lives have two records each on average, as lives that begin in a recording
 * have: so an answer fits into 4 GiB. Records of other threads are counted. The order of merges
 * does not matter as long as there are fewer.
 */
#define LIVES_MAX ((u32)1 << 20)

struct partial_options {
	bool spans; /* keep each syscall, fault and wait, not only their sums */
	const struct kspan_filter *only; /* of them; NULL: all; borrowed until it is finished */
	bool state_only;		 /* no sums either: just what later records may ask for
					    (map/checkpoint/checkpoint.h) */
	bool hits;			 /* count whom recording hit (map/kernel/hits.h) */
	u32 lives_max;			 /* 0: LIVES_MAX */
	struct sum_choice sums;		 /* what the sums of calls and waits tell apart */
	/*
	 * Answers for [from_ns, to_ns) only; 0: no limit. Records before it still count. The time
	 * of threads, and what they give to spans, is cut at the limits. A call, request, wait or
	 * span belongs whole to the range in which it ends.
	 */
	u64 from_ns, to_ns;
	/*
	 * Not NULL: measures these threads, and keeps only what they did in the kernel then, with
	 * `spans` and without `only`; borrowed (map/meters.h).
	 */
	struct meters *meters;
};

struct partial {
	struct partial_options options;
	struct life_sink sink; /* through which lives tell what they settle; its arg is this one */
	u64 from_ns, to_ns;    /* the range it covers; both 0: empty */
	/*
	 * The streams were cut at different instants: records in [begun_ns, complete_ns) are
	 * applied, others wait for what a neighbour has of their time.
	 */
	bool uneven;
	/*
	 * Of one chunk: records older than begin_ns came late and wait likewise. The chunk before
	 * is complete up to late_ns: it did not wait for records older than that.
	 */
	u64 late_ns, begin_ns;
	u64 begun_ns, complete_ns;
	struct raw_records raw;
	struct map current; /* tid -> struct life, of threads that may go on */
	struct map
		taken; /* tids that an exec gave to another life: the life that had one is gone */
	VEC(struct life *) lives; /* all, owned */
	struct all_turns turns;	  /* of CPUs, if somebody asks who had them */
	struct facts facts;
	struct kspans kspans;	      /* with partial_options.spans */
	struct map undecided;	      /* tid -> what may be kept (kspan_filter.c), owned */
	size_t undecided_faults;      /* in it */
	struct bytes_map span_index;  /* struct context -> struct app_span */
	VEC(struct app_span *) spans; /* owned */
	struct intervals span_losses; /* a process (the owner) lost records of its own */
	VEC(struct unsure) unsure;    /* finished: by pid, then begin */
	struct sums calls;	      /* of system calls and requests to io_uring: call_sums.h */
	struct sums call_waits;	      /* likewise, of sleeps in calls whose begin is not known */
	struct sums waits;	      /* of waits by their cause: call_sums.h */
	struct details details;	      /* of calls */
	struct openings openings;     /* of files in calls, call_waits and waits */
	struct sums blocks;	      /* of requests to disks: by device and process */
	struct sums futexes;	      /* who waits for which futex, and who wakes it: futex.h */
	VEC(struct futex_use) futex_uses; /* finished: by process, then address */
	struct kevents events;
	struct samples samples;	    /* of what ran on the CPUs */
	struct samples wait_stacks; /* of the program, of long waits: samples_add_stack() */
	u64 lost[8];		    /* by enum record_loss */
	u64 fed;      /* records that the lives were told, not those that a merge left out */
	u64 left_out; /* records, and lives of merged partials, that were left out: LIVES_MAX */
	u32 cpus;     /* of the host; 0: not known */
	u64 steal_ns; /* what the hypervisor took from them inside the limits */
	struct cost_sums costs;
	struct hits hits; /* with partial_options.hits */
	/*
	 * Filters make time on a CPU known only in sum. Finished: one element for each stretch
	 * between gaps, by time.
	 */
	VEC(struct filter_told) filters_told;
	VEC(struct record_gap) gaps;
	VEC(u64) gap_ends;		/* finished: in the order of time */
	struct intervals gaps_joined;	/* finished */
	struct intervals losses_joined; /* finished: of any CPU (unknown.h) */
	/*
	 * When records of which CPU were lost. Before its next record, or at the end, a life is
	 * told of the losses since its last record.
	 */
	VEC(struct record_lost) losses;
	u32 losses_told;	      /* the most that any life knows of */
	u64 losses_kept;	      /* by lives that are not settled, about */
	struct loss_index loss_index; /* of those that were told, as far as it was asked */
	/*
	 * CPUs whose records are missing since begin_ns; until when is not known yet. A life is
	 * told of them before each of its records.
	 */
	VEC(struct record_lost) holes;
	u64 holes_since_ns; /* when the first of them began, if there is one */
	int err;	    /* the first failure inside a callback: -ENOMEM */
	bool finished;
};

/* An empty partial, the identity of merge. NULL if memory ran out. */
struct partial *partial_new(const struct partial_options *options);
void partial_free(struct partial *p);

/* It covers [from_ns, to_ns) of the monotonic clock, besides what it covered. */
void partial_cover(struct partial *p, u64 from_ns, u64 to_ns);

/*
 * The streams of the records to come were cut at different instants, as in foreign traces: all of
 * them had begun at begun_ns, none ends before complete_ns. Call it before the first record;
 * without it, cuts are instants.
 */
void partial_streams(struct partial *p, u64 begun_ns, u64 complete_ns);

/*
 * The records to come are of a chunk that begins at begin_ns. Older ones came late, and the chunk
 * before is complete up to late_ns only. Call it before the first record.
 */
void partial_late(struct partial *p, u64 late_ns, u64 begin_ns);

/*
 * A crash ended the recording here: nobody has the rest of streams that end early. Does at once
 * what the merge with the partial behind the gap would do, with the same outcome, so that no record
 * waits for it. 0 or -ENOMEM.
 */
int partial_ends(struct partial *p);

/* Applies the next record. 0 or -ENOMEM. Unknown kinds are passed over. */
int partial_apply(struct partial *p, const struct record_head *r);

/* Joins `right`, which follows in time, into `left`; frees `right`. 0 or -ENOMEM. */
int partial_merge(struct partial *left, struct partial *right);

/* Whether a call, wait or span that ends then belongs to the range of the options. */
static inline bool partial_in_range(const struct partial *p, u64 end_ns)
{
	return end_ns >= p->options.from_ns && (!p->options.to_ns || end_ns < p->options.to_ns);
}

/* Whether a thread, or a span whose end was not told, was over before the range. */
static inline bool partial_over_before(const struct partial *p, u64 end_ns)
{
	return end_ns < p->options.from_ns;
}

/*
 * Nothing more will come: settles all lives over the range and sorts every
 * list, so that the same input gives the same bytes. 0 or -ENOMEM. Afterwards
 * only the queries may be called.
 */
int partial_finish(struct partial *p);

#endif
