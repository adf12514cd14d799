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
 * - of the processes whose pids are in `pids` the path by which each opened a file last, and with
 *   `works` their calls, faults and waits, without their contexts;
 * - no sums but those of futexes, no events, samples, costs, other files, paths or mappings.
 *
 * `p` is as for partial_write(), and may be used as before. 0, -ENOMEM or -EINVAL.
 */
int partial_write_narrow(struct partial *p, const struct map *pids, bool works, struct bytes *out);

#endif
