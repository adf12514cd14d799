/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a checkpoint: what its parts look like. See checkpoint.c for what a change of them asks
 * for. */
#ifndef MAP_CHECKPOINT_INTERNAL_H
#define MAP_CHECKPOINT_INTERNAL_H

#include "map/checkpoint/archive.h"
#include "map/partial.h"

/* lives.c */
void checkpoint_lives_read(struct archive *a, struct partial *p);
void checkpoint_lives_write(struct archive *a, const struct partial *p);

/* spans.c */
void checkpoint_spans_read(struct archive *a, struct partial *p);
void checkpoint_spans_write(struct archive *a, const struct partial *p);

#endif
