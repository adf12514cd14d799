/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of descriptors, found from the facts of a finished partial. */
#ifndef MAP_FDS_H
#define MAP_FDS_H

#include "map/partial.h"
#include "map/query.h"

enum fd_known { FD_NOT_KNOWN, FD_IS_OPEN, FD_IS_CLOSED };

/* Sorts the facts of descriptors, by table. 0 or -ENOMEM. Forks and processes are there. */
int fds_sort(struct facts *f);

/* Identity of the table that a thread had at a time. */
u64 fds_table(const struct facts *f, u32 tid, u32 pid, u64 time_ns);

/* What the descriptor was: if open, *found gets the fact that names it. */
enum fd_known fds_look(const struct facts *f, const struct fd_question *q,
		       const struct fact_fd **found);

/* True if the fact tells of descriptors fd to from. */
bool fd_is_range(const struct fact_fd *d);

#endif
