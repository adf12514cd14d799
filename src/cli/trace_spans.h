/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes of a tree to the spans that are shown: names, attributes, events.
 */
#ifndef CLI_TRACE_SPANS_H
#define CLI_TRACE_SPANS_H

#include "base/map.h"
#include "base/vec.h"
#include "cli/trace_view.h"
#include "map/tree.h"

/* One trace in the making: views, and what they point to. */
struct making {
	const struct partial *p;
	const char *host;
	VEC(struct span_view) spans;
	VEC(struct attribute_view *) attributes; /* owned, one array per span or event */
	VEC(struct event_view *) events;	 /* owned, one array per span */
	VEC(char *) texts;			 /* owned */
	VEC(struct attribute_view) current;	 /* attributes of the span being made */
	struct map formats;			 /* of events: id -> struct event_format, owned */
	bool failed;				 /* memory ran out */
};

/* Adds a node; memory that runs out sets `failed`. */
void making_add(struct making *m, const struct node *n);

/* Forgets the trace, for the next one. */
void making_reset(struct making *m);
void making_free(struct making *m);

#endif
