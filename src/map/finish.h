/* SPDX-License-Identifier: Apache-2.0 */
/* How lives end. */
#ifndef MAP_FINISH_H
#define MAP_FINISH_H

#include "map/partial.h"

/*
 * Nothing more will come of a life: it tells what is left. Call it once. taken_ns: since when
 * another life has its number, if its end was not seen; else UINT64_MAX. 0 or -ENOMEM.
 */
int partial_life_end(struct partial *p, struct life *l, u64 taken_ns);

#endif
