/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of src/map share and nobody else needs. */
#ifndef MAP_INTERNAL_H
#define MAP_INTERNAL_H

#include "base/order.h"
#include "map/fact/facts.h"
#include "map/fact/gaps.h"
#include "map/partial.h"

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

/* prune.c: leaves what still holds at its end, and sorted facts */
int checkpoint_prune(struct partial *p);

#endif
