/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of the application, and contexts that were only seen published. Their halves join by their
 * context; the time that threads gave to them adds up for each thread.
 */
#ifndef MAP_SPAN_SPANS_H
#define MAP_SPAN_SPANS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/life.h"

struct partial;

struct span_hold {
	u64 begin_ns, end_ns;
	struct split split;
};

struct span_share {
	u32 tid, pid;
	u64 begin_ns, end_ns;	     /* from first to last */
	struct split split;	     /* of all */
	VEC(struct span_hold) holds; /* each time it had it; empty: once */
};

struct span_shares {
	VEC(struct span_share) list; /* one per thread */
	struct map numbers;	     /* tid -> number in the list + 1; of a long one */
	bool sighted;		     /* told by sightings of its context */
};

struct span_attribute {
	char *text; /* the key, then the string; owned */
	u32 text_bytes, key_bytes;
	u8 type; /* enum record_attribute_type */
	u64 value;
};

struct span_event {
	u64 time_ns; /* 0: the event is not known, its attributes are */
	char *name;  /* owned */
	u32 tid;     /* of the thread that told it */
	u8 level;
	VEC(struct span_attribute) attributes;
};

struct app_span {
	struct context ctx;
	bool begun, ended; /* its record was seen */
	u8 kind, level, status, flags;
	u32 tid, pid; /* where it began */
	/* not begun: of a checkpoint, when a span below it was seen first; 0: none was */
	u64 begin_ns;
	u64 end_ns;
	u64 gap_ns;	/* of a checkpoint: the begin of a gap that nobody saw it behind; 0: none */
	u64 open_ns;	/* of a checkpoint that was joined: it was open then; 0: not known */
	u64 over_ns;	/* of a hand-over: its program had ended then; 0: not known */
	u64 sighted_ns; /* while it is pruned: when it, or one below it, was seen last, or first */
	u64 parent;	/* as in struct context.span, 0: none */
	char *name, *message;	   /* owned */
	struct span_shares active; /* by its own records */
	struct span_shares seen;   /* by its published context */
	VEC(struct span_event) events;
	struct map last_events; /* tid -> number of its last event + 1, of the first so many */
	size_t events_numbered;
	VEC(struct span_attribute) attributes;
	/* of the oldest, which a checkpoint does not keep (map/checkpoint/checkpoint.h) */
	u64 events_deleted, attributes_deleted;
};

/* The span with this context; made if it is new. NULL if there is no memory. */
struct app_span *span_get(struct partial *p, const struct context *ctx);
void span_free(struct app_span *span);

/* NULL: it has no parent, or nothing tells of that. */
struct app_span *span_parent(const struct partial *p, const struct app_span *span);

/* Events and attributes that span_shorten() leaves: a span may be open for ever. */
#define SPAN_EVENTS_KEPT 128
#define SPAN_ATTRIBUTES_KEPT 128 /* of the span, and of each event */
/* Leaves the latest events and attributes, and counts the others. */
void span_shorten(struct app_span *span);

/* Adds what a record of an application tells. 0 or -ENOMEM. */
int spans_add(struct partial *p, const struct record_head *r);

/* Adds time that a thread gave to a span, by records (`active`) or by sightings. 0 or -ENOMEM. */
int spans_share(struct partial *p, bool active, const struct life *l,
		const struct life_share *share);

/*
 * The thread of a request had that span at that time. Often nothing else tells it: a crash cut the
 * thread off in a fault, or its calls are left out. 0 or -ENOMEM.
 */
int span_sighted(struct partial *p, const struct context *ctx, const struct record_head *r,
		 u64 time_ns);

int spans_merge(struct partial *left, struct partial *right); /* right is left empty */
int spans_sort(struct partial *p);
void spans_free(struct partial *p);

#endif
