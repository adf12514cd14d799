/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a request to a disk. */
#ifndef ANSWER_SPAN_BLOCK_H
#define ANSWER_SPAN_BLOCK_H

#include "answer/span_builder.h"

/* Adds the attributes of the request and returns its name. */
const char *span_add_block(struct span_builder *b, const struct kspan *k);

/* The name of a disk (major number << 20 | minor number), or its numbers. Of the builder. */
const char *block_device(struct span_builder *b, u32 dev);

/* "read", "write", "flush" or "discard", of BLOCK_* flags. */
const char *block_operation(u32 flags);

#endif
