/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of the connection that a call worked on. */
#ifndef ANSWER_SPAN_CONNECTION_H
#define ANSWER_SPAN_CONNECTION_H

#include "answer/span_builder.h"

/* Adds the address and port of the other end, or the socket that is its peer on this host. */
void span_add_peer(struct span_builder *b, const struct kspan *k);

/*
 * Adds the range of bytes in the stream that a call sent or received, or the numbers of its
 * messages. If the bytes of another call lie between, the attributes hold the first range, and
 * "bytes.more" the number of the others.
 */
void span_add_bytes(struct span_builder *b, const struct kspan *k);

#endif
