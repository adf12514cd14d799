/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps: times of which nothing was recorded. */
#ifndef MAP_FACT_GAPS_H
#define MAP_FACT_GAPS_H

#include "record/record.h"

struct partial;

/* Sorts the gaps once all are there, before the functions below are called. 0 or -ENOMEM. */
int gaps_sort(struct partial *p);

/* When the last gap ended that ended up to then; 0: none did. */
u64 gaps_end_before(const struct partial *p, u64 time_ns);
/* When the first gap begins that begins from then on; UINT64_MAX: none does. */
u64 gaps_begin_after(const struct partial *p, u64 time_ns);
/* When the first gap ends that ends behind it; UINT64_MAX: none does. */
u64 gaps_end_after(const struct partial *p, u64 time_ns);
/*
 * When the gap began that the time lies in, together with gaps that overlap or touch it; 0: it lies
 * in none.
 */
u64 gap_around(const struct partial *p, u64 time_ns);

#endif
