/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of this very process, for benchmarks that listen to themselves. */
#ifndef BENCH_OWN_RING_H
#define BENCH_OWN_RING_H

#include "lib/app_ring.h"

/*
 * Finds our own ring as capture finds that of others, and takes it for ourselves: a ring has
 * one listener. NULL if there is none, or another listens. The caller's, for app_ring_close().
 */
struct app_ring *own_ring_find(void);

#endif
