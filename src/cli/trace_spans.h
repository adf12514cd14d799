/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes of a tree to the spans that are shown: names, attributes, events.
 */
#ifndef CLI_TRACE_SPANS_H
#define CLI_TRACE_SPANS_H

#include "base/map.h"
#include "base/vec.h"
#include "cli/trace_view.h"
#include "map/tree/tree.h"
#include "symbol/symbolizer.h"

/* One span in the making: its view, and what that points to. */
struct making {
	const struct partial *p;
	const struct tree *tree;
	const char *host;
	struct symbolizer *symbolizer; /* made when the first stack is shown; owned */
	struct span_view span;
	VEC(struct attribute_view *) attributes; /* owned, one array per event */
	struct event_view *events;		 /* owned */
	VEC(char *) texts;			 /* owned */
	VEC(struct attribute_view) current;	 /* attributes of the span or event being made */
	struct map formats;			 /* of events: id -> struct event_format, owned */
	bool failed;				 /* memory ran out */
};

/*
 * The view of a node, until the next call; `brief`: as trace_view.h says. NULL if memory ran out.
 */
const struct span_view *making_span(struct making *m, const struct node *n, bool brief);

void making_free(struct making *m);

/* trace_kernel.c: kind, name, time and attributes of a node of the kernel. */
void making_kernel(struct making *m, const struct node *n, struct span_view *v, bool brief);

/* trace_waker.c: attributes that say who ended a wait. */
void making_waker(struct making *m, const struct life_wake *wake);

/* trace_block.c: attributes of a request to a disk; returns its name. */
const char *making_block(struct making *m, const struct kspan *k);
/* "read", "write", "flush" or "discard", from BLOCK_*. */
const char *block_operation(u32 flags);

/* trace_connection.c: who is at the other end of the socket that a call worked on. */
void making_peer(struct making *m, const struct kspan *k);

/*
 * The range in its stream of what a call sent or received; of packets the
 * numbers. If something of others lies between, the first range.
 */
void making_bytes(struct making *m, const struct kspan *k);

/* A text that lives as long as the span; "" with `failed` set if memory ran out. */
__attribute__((format(printf, 2, 3))) const char *making_text(struct making *m, const char *format,
							      ...);

/* The same of a text that is there. */
const char *making_copy(struct making *m, const char *of);

/* An attribute for the span being made; key and value must outlive it. */
void making_string(struct making *m, const char *key, const char *value);
void making_integer(struct making *m, const char *key, s64 value);
void making_boolean(struct making *m, const char *key, bool value);

#endif
