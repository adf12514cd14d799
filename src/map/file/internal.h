/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that write or read one part of a partial each, depending on how the archive was begun.
 */
#ifndef MAP_FILE_INTERNAL_H
#define MAP_FILE_INTERNAL_H

#include "map/checkpoint/archive.h"
#include "map/partial.h"

/* counts.c */
void whole_sums(struct archive *a, struct partial *p);
void whole_events(struct archive *a, struct partial *p);

/* costs.c */
void whole_costs(struct archive *a, struct partial *p);

/* kernel_spans.c */
void whole_kernel_spans(struct archive *a, struct partial *p);

#endif
