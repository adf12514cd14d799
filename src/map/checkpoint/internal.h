/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a checkpoint: what its parts look like. See checkpoint.c for what a change of them asks
 * for. */
#ifndef MAP_CHECKPOINT_INTERNAL_H
#define MAP_CHECKPOINT_INTERNAL_H

#include "map/checkpoint/archive.h"
#include "map/partial.h"

/* lives.c */
void checkpoint_lives_read(struct archive *a, struct partial *p);
void checkpoint_lives_write(struct archive *a, struct partial *p);

/* spans.c */
void checkpoint_spans_read(struct archive *a, struct partial *p);
void checkpoint_spans_write(struct archive *a, struct partial *p);

/* checkpoint.c: elements of lists that a whole partial has, too */
void archive_raw(struct archive *a, struct raw_record *r);
void archive_format(struct archive *a, struct event_text *f);
void archive_span_loss(struct archive *a, struct interval *loss);
void archive_filter(struct archive *a, struct filter_told *told);
void archive_waiting(struct archive *a, struct waiting_detail *w);

#endif
