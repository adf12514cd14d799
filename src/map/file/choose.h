/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MAP_FILE_CHOOSE_H
#define MAP_FILE_CHOOSE_H

#include "map/partial.h"

/*
 * Leaves of the kernel spans of a finished partial those that its options ask for (options.only),
 * with what lies in one of them; of a partial that was read they are all there. 0, or -ENOMEM with
 * the partial only to be freed.
 */
int partial_choose(struct partial *p);

#endif
