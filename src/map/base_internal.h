/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a base: what its parts look like. See base.c for what a change of them asks for. */
#ifndef MAP_BASE_INTERNAL_H
#define MAP_BASE_INTERNAL_H

#include "map/archive.h"
#include "map/partial.h"

/* base_lives.c */
void base_lives_read(struct archive *a, struct partial *p);
void base_lives_write(struct archive *a, const struct partial *p);

/* base_facts.c: both ways */
void base_facts(struct archive *a, struct facts *f);

/* base_spans.c */
void base_spans_read(struct archive *a, struct partial *p);
void base_spans_write(struct archive *a, const struct partial *p);

#endif
