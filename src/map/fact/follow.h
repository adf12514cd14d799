/* SPDX-License-Identifier: Apache-2.0 */
/* Processes whose spans are followed: with --spans-only all under a span of theirs is recorded. */
#ifndef MAP_FACT_FOLLOW_H
#define MAP_FACT_FOLLOW_H

#include "base/intervals.h"
#include "map/partial.h"

/*
 * Since when the spans are followed of the program that the process ran at the begin of `of`. Facts
 * and gaps are sorted. NULL: not known.
 */
const struct fact_follow *follow_of(const struct partial *p, u32 pid, struct interval of);

#endif
