/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at foreign objects: mapped files and the memory of processes. A look is a system call that
 * can block without limit, on a silent FUSE file system or a dead NFS server for example, and
 * nothing can interrupt the thread that made it.
 *
 * One thread does all looks and says before each one what it looks at. A second thread supervises.
 * If a look takes longer than FOREIGN_DEADLINE_NS, the supervisor takes the work away and gives it
 * to a new thread; the object is skipped from then on. When the old thread returns, it learns that
 * the work is not its own any more. It then touches no shared data and ends, and the object may be
 * looked at again.
 */
#ifndef PROC_LOOK_H
#define PROC_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/record.h"

#define FOREIGN_DEADLINE_NS 250000000ull
/* With so many stuck threads, only processes and devices that answered before are looked at. */
#define FOREIGN_STUCK_SOME 8
/* With so many stuck threads, nothing is looked at. */
#define FOREIGN_STUCK_MAX 16

/* An object of looks, as a number. */
#define FOREIGN_DEVICE(major, minor) ((u64)(major) << 32 | (u64)(minor))
#define FOREIGN_PROCESS(pid) (1ull << 63 | (u32)(pid))

struct foreign_looks;

/* NULL if there is no memory. */
struct foreign_looks *foreign_looks_new(void);
/* For the owner. The memory is freed once the last stuck thread has ended. NULL is allowed. */
void foreign_looks_free(struct foreign_looks *looks);

/* ---- the thread that looks ---- */

/* Gives the work to the calling thread, before its first look. */
void foreign_looks_join(struct foreign_looks *looks);

/*
 * Begins a look at `what`. Looks may be nested. With NULL for `looks` nobody supervises. Returns 0,
 * and then foreign_look_end() must follow; -EBUSY if a look at the object hangs now; or -ECANCELED
 * if the work was taken away.
 */
int foreign_look_begin(struct foreign_looks *looks, u64 what);

/*
 * Ends a look. 0, or -ECANCELED if the work was taken away during it. Then the calling thread must
 * end, and must touch nothing but its own data, not even `looks`.
 */
int foreign_look_end(struct foreign_looks *looks);

/* Whether the work of the calling thread was taken away. */
bool foreign_work_is_taken(void);

/* ---- the thread that supervises ---- */

/* Takes the work away if a look takes too long. True: it was taken, and needs a new thread. */
bool foreign_looks_take(struct foreign_looks *looks);

/* How many stuck threads have returned. If the number grew, skipped objects are worth a look. */
u64 foreign_looks_returned(struct foreign_looks *looks);

#endif
