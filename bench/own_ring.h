/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of this process, for benchmarks that listen to themselves. */
#ifndef BENCH_OWN_RING_H
#define BENCH_OWN_RING_H

#include "lib/app_ring.h"

/*
 * Finds the ring of this process as capture finds those of others, and becomes its listener, of
 * which there is only one. NULL if there is no ring, or another listens. The caller frees it with
 * app_ring_close().
 */
struct app_ring *own_ring_find(void);

#endif
