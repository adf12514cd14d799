/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of src/map share and nobody else needs. */
#ifndef MAP_INTERNAL_H
#define MAP_INTERNAL_H

#include "map/partial.h"

/* In a map that is a set: the value of what is there. */
#define PRESENT ((void *)1)

/* The calls through which lives tell what they settle; arg is the partial. */
struct life_sink partial_sink(struct partial *p);

static inline bool partial_is_full(const struct partial *p)
{
	size_t most = p->options.lives_max ? p->options.lives_max : LIVES_MAX;

	return p->lives.count >= most && p->fed / 2 < p->lives.count;
}

/* The life is told one record more. */
static inline void partial_told(struct partial *p, struct life *l)
{
	l->told++;
	p->fed++;
}

/* Not exit and exit_group, which are no spans. */
bool partial_call_returns(u16 nr, bool compat);

/* Remembers the first failure of a callback. */
static inline void partial_failed(struct partial *p, int err)
{
	if (err && !p->err)
		p->err = err;
}

/* Applies a record wherever its time lies. */
int partial_apply_now(struct partial *p, const struct record_head *r);
/*
 * Applies one of whose time not all records are there: no life follows from it. But what an
 * application says of its thread holds from from_ns on.
 */
int partial_apply_outside(struct partial *p, const struct record_head *r, u64 from_ns);

/* Tells a life of the losses that it was not told of: the first `count`, until to_ns. 0 or -ENOMEM.
 */
int partial_tell_losses(struct partial *p, struct life *l, size_t count, u64 to_ns);

/* Nothing comes from its left: it may miss what was lost there before its first record. */
int partial_life_begin(struct partial *p, struct life *l);
/*
 * Nothing more will come of a life: it tells what is left. Not twice. taken_ns: since when another
 * has its number, if its end was not seen.
 */
int partial_life_end(struct partial *p, struct life *l, u64 taken_ns);
/* Where the accounting of a life begins that was not born. */
u64 partial_life_from(const struct partial *p, const struct life *l);

/* A copy of text that ends with NUL; NULL with errno ENOMEM. */
char *text_copy(const char *text, size_t bytes);

/* In a function that compares for qsort: done if these differ. */
#define COMPARE(x, y)                                                                              \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

/* The number of elements for which `before` holds; they stand first. */
#define COUNT_BEFORE(list, element, before)                                                        \
	({                                                                                         \
		size_t low_ = 0, high_ = (list)->count;                                            \
		while (low_ < high_) {                                                             \
			size_t middle_ = low_ + (high_ - low_) / 2;                                \
			__typeof__((list)->data) element = &(list)->data[middle_];                 \
			if (before)                                                                \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})

/* losses.c: beside partial_tell_losses() and partial_life_begin() */
int losses_add(struct partial *p, const struct record_head *r);
int losses_merge(struct partial *left, struct partial *right);
/* Begins or ends a hole, if that is what the record tells. 0 or -ENOMEM */
int holes_follow(struct partial *p, const struct record_lost *lost);
/* Tells a life of what is missing of [.., to_ns), before its record of that time. 0 or -ENOMEM. */
int partial_tell_holes(struct partial *p, struct life *l, u64 to_ns);
/* Ends all holes: what is behind that time is another's. 0 or -ENOMEM */
int holes_end(struct partial *p, u64 to_ns);
/*
 * When every life knows of all: who is seen first later needs to know from when
 * to when there were losses. One says that.
 */
void losses_shorten(struct partial *p);

/* facts.c */
int facts_add(struct facts *f, const struct record_head *r);
int facts_merge(struct facts *left, struct facts *right); /* right is left empty */
void facts_free(struct facts *f);
/* Once sorted: how the process was made that had this number then; NULL: before, or not known. */
const struct fact_fork *facts_fork(const struct facts *f, u32 pid, u64 time_ns);

/*
 * unseen_forks.c: of forks that nobody saw. Names of who had a number before end there, and those
 * of who was found with it later begin; names and forks are sorted. 0 or -ENOMEM
 */
int unseen_forks_sort(struct facts *f);
/* When the number was given to another one last, up to then; 0: never, as far as is known */
u64 unseen_forks_last(const struct facts *f, u32 number, u64 time_ns);
/* When that is so next, behind it; UINT64_MAX: never */
u64 unseen_forks_next(const struct facts *f, u32 number, u64 time_ns);

/* facts_sort.c: and makes what queries need */
extern const struct thread_order bytes_order, path_order;
int facts_sort(struct facts *f);
void processes_sort(struct facts *f);

/* stacks.c: stacks and mappings among the facts */
int stack_fact_add(struct facts *f, const struct record_stack *r);
int mapping_fact_add(struct facts *f, const struct record_mapping *r);
void stack_facts_sort(struct facts *f);
void stack_facts_free(struct facts *f);
/* Since when a process runs what it runs: what was mapped before is gone. */
u64 stack_facts_image(const struct facts *f, u32 pid, u64 time_ns);

/* prune.c: whoever may be asked for later */
struct living {
	struct map tids;	/* threads that go on, and whoever woke one that still waits */
	struct map pids;	/* processes of those that go on */
	struct map ended;	/* when the last life of a number ended, + 1 */
	struct map files;	/* keys of files that are open */
	struct bytes_map spans; /* contexts that own the time of a thread */
	u64 expected_ns;	/* since then the threads of a process may have still to come */
};

/* Whether what was told of a process then is of one that lives, or may: threads come after it. */
bool living_may_have(const struct living *l, u32 pid, u64 time_ns);
/* prune_told.c: finds expected_ns, for a checkpoint at that time. 0 or -ENOMEM */
int living_expect(struct living *l, const struct facts *f, u64 at_ns);
/* The time from which on there are no more than a checkpoint keeps, also of one time; sorts the
 * times. */
u64 told_since(u64 *times, size_t count);

/* Leaves what later stacks and waits of these threads and processes may ask for. 0 or -ENOMEM */
int stack_facts_prune(struct facts *f, const struct living *l, u64 at_ns);

/* containers.c: cgroups and moves among the facts */
int cgroup_fact_add(struct facts *f, const struct record_cgroup *r);
int move_fact_add(struct facts *f, struct fact_move move);
void container_facts_sort(struct facts *f);
/* Leaves where processes are at that time that live, or may; before forks go. 0 or -ENOMEM */
int container_facts_prune(struct facts *f, const struct living *l, u64 at_ns);

/* sums.c */
struct sum_of {
	u64 key;
	u32 pid;
	struct file_ref file;
};
int sums_add(struct sums *s, const struct sum_of *of, const struct split *split, u64 duration_ns,
	     bool error);
/* Of which all is that part. */
int sums_add_part(struct sums *s, const struct sum_of *of, enum split_part part, u64 duration_ns,
		  bool error);
int sums_merge(struct sums *left, struct sums *right); /* right is only to be freed then */
int sums_sort(struct sums *s);			       /* once nothing more will be added */
void sums_free(struct sums *s);

/* events.c */
int events_add(struct partial *p, const struct record_head *r);
int events_index(struct kevents *events);		       /* of formats that came otherwise */
int events_merge(struct kevents *left, struct kevents *right); /* moves what it can */
int events_sort(struct partial *p);			       /* after all spans are there */
void events_free(struct kevents *events);

/* span_shares.c */
int share_add(struct span_shares *shares, const struct span_share *once);
struct span_share *share_of(const struct span_shares *shares, u32 tid); /* NULL: it has none */
/* `from` is only to be freed then. */
int shares_join(struct span_shares *to, struct span_shares *from);
int shares_sort(struct span_shares *shares); /* by tid, and holds by time */
void shares_free(struct span_shares *shares);

/* spans.c */
struct app_span *span_get(struct partial *p, const struct context *ctx); /* made if new */
void span_free(struct app_span *span);
/* NULL: it has none, or nothing tells of it. */
struct app_span *span_parent(const struct partial *p, const struct app_span *span);
/* Of what was told of it the latest stays, so that a span may be open for ever; the rest counts. */
#define SPAN_EVENTS_KEPT 128
#define SPAN_ATTRIBUTES_KEPT 128 /* of the span, and of each event */
void span_shorten(struct app_span *span);
int spans_add(struct partial *p, const struct record_head *r);
int spans_share(struct partial *p, bool active, const struct life *l,
		const struct life_share *share);
/*
 * The thread of a request had that span then, of which often nothing else tells, as where a crash
 * cut it off in a fault, or its calls are left out.
 */
int span_sighted(struct partial *p, const struct context *ctx, const struct record_head *r,
		 u64 time_ns);
int spans_merge(struct partial *left, struct partial *right); /* right is left empty */
int spans_sort(struct partial *p);
void spans_free(struct partial *p);

/* unsure.c */
struct stretch {
	u64 begin_ns, end_ns;
};
struct stretches { /* a VEC */
	struct stretch *data;
	size_t count, capacity;
};
/* What life_sink.unnamed tells: once all spans are there. 0 or -ENOMEM */
int unsure_add(struct partial *p, const struct life *l, const struct life_share *share);
/* No span had the thread then, if nothing was lost. 0 or -ENOMEM */
int unowned_add(struct partial *p, const struct life *l, const struct life_share *share);
int unsure_sort(struct partial *p); /* once gaps are complete. 0 or -ENOMEM */
/* How much was looked at so far, and the most that is. */
struct looks {
	size_t count, most;
};
/*
 * In which parts of the range, which begins with the span or behind that, it may have had a
 * thread, though nothing tells; in all of it when too much was looked at. 0 or -ENOMEM
 */
int unsure_find(const struct partial *p, const struct app_span *span, struct stretch range,
		struct looks *looks, struct stretches *to);

/* span_losses.c */
int span_loss_add(struct partial *p, const struct record_lost *lost);
void span_losses_sort(struct partial *p); /* by process and time; those that lap over are one */
/* Once lives have ended and all spans are there: what is unsure for it. 0 or -ENOMEM */
int span_losses_apply(struct partial *p);

/* gaps.c: when all are there, and before the others. 0 or -ENOMEM */
int gaps_sort(struct partial *p);
/* When the last one ended up to then; 0: none */
u64 gaps_end_before(const struct partial *p, u64 time_ns);
/* When the first one begins from then on; UINT64_MAX: none */
u64 gaps_begin_after(const struct partial *p, u64 time_ns);
/* When the first one ends behind it; UINT64_MAX: none */
u64 gaps_end_after(const struct partial *p, u64 time_ns);
/* When the one began that it lies in, with those that lap over or touch it; 0: it lies in none */
u64 gap_around(const struct partial *p, u64 time_ns);

/* urings.c */
int urings_add(struct partial *p, const struct record_head *r);

/* blocks.c */
int blocks_add(struct partial *p, const struct record_head *r);

/* ---- kspan_filter.c ---- */

/* Whether options ask for what this thread did in the kernel under that span (all zero: none). */
bool partial_wants(const struct partial *p, const struct context *ctx, u32 pid, u32 tid);

/* Keeps a copy, if options ask for it. 0 or -ENOMEM. */
int kspan_keep(struct partial *p, const struct kspan *k);

/* Once lives are merged: right's spans of which it is not known yet. 0 or -ENOMEM. */
int undecided_merge(struct partial *left, struct partial *right);
void undecided_free(struct partial *p);

/* filters.c: once gaps are sorted, and before the others */
void filters_sort(struct partial *p);
/* Leaves what holds at its end. */
void filters_prune(struct partial *p);
/* What was left out while it lived */
u32 filters_of_life(const struct partial *p, const struct life *l);
/* Once lives have ended, and before they are joined across gaps */
void filters_doubt(struct partial *p);
/* Once lives and facts are sorted. 0 or -ENOMEM */
int filters_apply(struct partial *p);
/* Since when the spans are followed of the program that ran in the begin of it; NULL: not known */
const struct fact_follow *follow_of(const struct partial *p, u32 pid, struct stretch of);

/* uneven_cut.c */
int raw_read(struct raw_record *raw, const char *data); /* raw->bytes of foreign bytes */
/* Takes a copy, with this time. */
int uneven_cut_keep(struct partial *p, const struct record_head *r, u64 time_ns);
/* Before their bodies: then all that was missing in the left one has ended. 0 or -ENOMEM */
int uneven_cuts_merge(struct partial *left, struct partial *right);
int uneven_cuts_finish(struct partial *p); /* applies what is left */
/* What is missing at the end of its body is told there: what waits goes on with it. 0 or -ENOMEM */
int uneven_cut_cut_holes(struct partial *p);
/* Whether records may come, or wait, that lie before its end. */
bool uneven_cut_is_open(const struct partial *p);
void uneven_cuts_free(struct partial *p);

/* query.c: what query_comm() says */
const struct fact_name *query_name(const struct partial *p, u32 tid, u64 time_ns);

/* prune.c: leaves what still holds at its end, and sorted facts */
int checkpoint_prune(struct partial *p);

/* prune_told.c */

/* True of the file of an io_uring's slot: no descriptor has it. */
bool fd_is_slot(const struct fact_fd *d);

struct kept_fds { /* a VEC */
	struct fact_fd *data;
	size_t count, capacity;
};

/*
 * Leaves the last names of threads and processes that go on, of who woke one of them that still
 * waits, and the latest of those that had no life here. Facts are sorted. 0 or -ENOMEM.
 */
int names_prune(struct partial *p, const struct living *l);

/*
 * Moves to `to` the last file of a slot of each that a process has told, the latest, and adds
 * their keys to the set `files`. 0 or -ENOMEM.
 */
int slots_keep(struct facts *f, const struct map *pids, struct kept_fds *to, struct map *files);

#endif
