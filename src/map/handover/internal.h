/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the hand-over. */
#ifndef MAP_HANDOVER_INTERNAL_H
#define MAP_HANDOVER_INTERNAL_H

#include "map/handover/handover.h"

/* What is kept of a span beside the span of the partial. */
struct handed {
	u64 version; /* of the last time that it was handed out; 0: never */
	u64 hash;    /* of what was handed out then */
	bool open;   /* and whether it was one that goes on */
	/* A heap with the shortest of them on top. */
	VEC(struct kspan) children;
	u64 children_seen, children_ns; /* all of them */
};

/* So many contexts of spans are remembered that are kept no longer. */
#define GONE_MAX 65536

struct handover {
	struct handover_options options;
	struct handover_counts counts;
	struct partial *running;
	struct bytes_map table; /* context -> struct handed, owned */
	u64 oldest_ns;		/* since then a kept span is open, or one may change */
	struct map gone;	/* hash of a context -> PRESENT */
	u64 *gone_ring;		/* the same, in turn; owned */
	size_t gone_at;
};

static inline u64 context_hash(const struct context *ctx)
{
	return hash_bytes(ctx, sizeof(*ctx));
}

/* children.c */

/* The entry of a context, made if it is new; NULL if there is no memory. */
struct handed *handed_get(struct handover *h, const struct context *ctx);
void handed_remove(struct handover *h, const struct context *ctx);

/* Takes the kernel spans of the running partial, which is left without any. 0 or -ENOMEM. */
int handover_children_take(struct handover *h);

struct kspan_list { /* a VEC */
	struct kspan *data;
	size_t count, capacity;
};

/* Puts the children of the entry, which may be NULL, into `out`, the longest first. 0 or -ENOMEM.
 */
int handed_children_sort(const struct handed *entry, struct kspan_list *out);

/* keep.c */

/* Whether the span has ended, as far as `p`, a finished partial, tells. */
bool handover_is_over(const struct partial *p, const struct app_span *span,
		      const struct span_time *t);

/* Adds the contexts of spans that threads which go on have, or are off their CPUs under. 0 or
 * -ENOMEM.
 */
int handover_owners(const struct partial *p, struct bytes_map *owners);

/* Leaves out fragments of spans that are kept no longer. */
void handover_late_drop(struct handover *h);

/* Drops a span, and remembers it if it was told. The list of spans is the caller's. 0 or -ENOMEM.
 */
int handover_span_drop(struct handover *h, struct app_span *span);

/*
 * Leaves what later chunks may change or ask for. `finished` is a finished copy of the running
 * partial, `times` are those of its spans. 0 or -ENOMEM.
 */
int handover_prune(struct handover *h, const struct partial *finished,
		   const struct span_time *times);

/* lend.c */

/*
 * Adds copies of the spans to `to`, which has none: names, events and attributes are lent until
 * handover_spans_return(), which takes them back before `to` is freed. 0 or -ENOMEM.
 */
int handover_spans_lend(const struct partial *p, struct partial *to);
void handover_spans_return(struct partial *to);

/* fold.c */

/*
 * Adds ended spans that were handed out to the open ones above them. Nothing changes any more
 * before before_ns; `owners` are the contexts that threads have now. 0 or -ENOMEM.
 */
int handover_fold(struct handover *h, const struct bytes_map *owners, u64 before_ns);

#endif
