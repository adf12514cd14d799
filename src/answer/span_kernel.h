/* SPDX-License-Identifier: Apache-2.0 */
/* Kind, name, time and attributes of a span of the kernel. */
#ifndef ANSWER_SPAN_KERNEL_H
#define ANSWER_SPAN_KERNEL_H

#include "answer/span_builder.h"
#include "map/tree/tree.h"

/* The node is one of node_is_kernel(). `brief` leaves out what trace.h says. */
void span_make_kernel(struct span_builder *b, const struct node *n, struct span *v, bool brief);

#endif
