/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that calls were asked for. */
#ifndef MAP_FACT_PATH_H
#define MAP_FACT_PATH_H

#include "map/fact/thread_facts.h"

struct texts;

extern const struct thread_order path_order; /* of struct fact_path, by call_ns */

/*
 * The path that a record tells, absolute and folded; a text of `texts`. NULL: no memory. Sets
 * *mounts to the mount namespace in which it holds; 0: the recorder's.
 */
const char *path_text(struct texts *texts, const struct record_path *r, u32 *mounts);

#endif
