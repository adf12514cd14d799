/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A partial without what the requests of a few processes do not need: a fraction of its bytes.
 */
#ifndef MAP_FILE_NARROW_H
#define MAP_FILE_NARROW_H

#include "base/bytes.h"
#include "map/partial.h"

/*
 * Appends to `out` what partial_read() makes a partial of that has
 * - of `p` all threads, application spans, losses and byte ranges, and the names of processes,
 *   sockets, services and cgroups;
 * - calls, faults and waits of the processes whose pids are in `pids`, without their contexts, and
 *   the path by which each of these opened a file last;
 * - no sums but those of futexes, no events, samples, costs, other files, paths or mappings.
 *
 * `p` is as for partial_write(), and may be used as before. 0, -ENOMEM or -EINVAL.
 */
int partial_write_narrow(struct partial *p, const struct map *pids, struct bytes *out);

#endif
