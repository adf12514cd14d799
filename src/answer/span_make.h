/* SPDX-License-Identifier: Apache-2.0 */
/* Makes spans of the nodes of a tree: names, owners, time splits, attributes, events. */
#ifndef ANSWER_SPAN_MAKE_H
#define ANSWER_SPAN_MAKE_H

#include "answer/span_builder.h"
#include "map/tree/tree.h"

/*
 * The span of a node, valid until the next call. `brief` leaves out what trace.h says. NULL: the
 * memory ran out.
 */
const struct span *span_make(struct span_builder *b, const struct node *n, bool brief);

#endif
