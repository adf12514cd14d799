/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of descriptors, found from facts: those that fork, exec, unshare and snapshots tell.
 *
 * Facts are sorted; several threads may ask at once.
 */
#ifndef MAP_FACT_FDS_H
#define MAP_FACT_FDS_H

#include "map/fact/query.h"

enum fd_known { FD_NOT_KNOWN, FD_IS_OPEN, FD_IS_CLOSED };

/*
 * As facts are sorted: finds the tables, and sets which table each fact of a descriptor is of;
 * forks and processes may be in any order. 0 or -ENOMEM.
 */
int fds_find_tables(struct facts *f);

/* Then, once these facts are sorted by table: finds those of ranges. 0 or -ENOMEM. */
int fds_index_ranges(struct facts *f);

/* Identity of the table that a thread had at a time. */
u64 fds_table(const struct facts *f, u32 tid, u32 pid, u64 time_ns);

/* A descriptor that is known to be open. */
struct fd_found {
	const struct fact_fd *fact; /* by which it was opened */
	bool cloexec;		    /* an exec closes it */
};

/* Whether the descriptor was open at the time; then *found is set. */
enum fd_known fds_look(const struct facts *f, const struct fd_question *q, struct fd_found *found);

/*
 * The fact that names the file of a descriptor: its open, found through duplicates, or the earliest
 * fact that is known. NULL: not known, or closed.
 */
const struct fact_fd *fds_origin(const struct facts *f, const struct fd_question *q);

/*
 * Calls `each` for every descriptor that is known to be open in the table that
 * a thread (q->tid, q->pid) has at a time, with q->fd set. Stops at the first
 * negative result and returns it; else 0, or -ENOMEM.
 */
int fds_each(const struct facts *f, const struct fd_question *who,
	     int (*each)(void *arg, const struct fd_question *q, const struct fd_found *found),
	     void *arg);

/* True if the fact tells of descriptors fd to from. */
bool fd_is_range(const struct fact_fd *d);

#endif
