/* SPDX-License-Identifier: Apache-2.0 */
/* Code that processes mapped. */
#ifndef MAP_FACT_MAPPING_H
#define MAP_FACT_MAPPING_H

#include "map/fact/facts.h"

/*
 * Since when the process runs what it runs at that time, of sorted facts: mappings from before are
 * gone.
 */
u64 mappings_image(const struct facts *f, u32 pid, u64 time_ns);

#endif
