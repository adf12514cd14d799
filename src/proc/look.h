/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what belongs to somebody else: a mapped file, or the memory of a process. They can
 * last for as long as that one wants (a FUSE file system that is silent, a dead NFS server), and
 * the thread that looks cannot be called back.
 *
 * So one thread looks, and says before what at; that costs no hand-over. Another one supervises:
 * if a look lasts longer than FOREIGN_DEADLINE_NS it takes the work away, and gives it to a new
 * thread. What was being looked at is skipped from then on, until the first thread returns, which
 * finds that the work is not its own any more: it touches nothing that it shared, and ends.
 */
#ifndef PROC_LOOK_H
#define PROC_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/record.h"

#define FOREIGN_DEADLINE_NS 250000000ull
/* So many stuck threads: nothing is looked at but processes, and devices that answered before. */
#define FOREIGN_STUCK_SOME 8
/* So many: nothing is looked at. */
#define FOREIGN_STUCK_MAX 16

/* What is looked at. */
#define FOREIGN_DEVICE(major, minor) ((u64)(major) << 32 | (u64)(minor))
#define FOREIGN_PROCESS(pid) (1ull << 63 | (u32)(pid))

struct foreign_looks;

/* NULL if there is no memory. */
struct foreign_looks *foreign_looks_new(void);
/* The owner leaves it; it goes with the last thread that is stuck. NULL is allowed. */
void foreign_looks_free(struct foreign_looks *looks);

/* ---- the thread that looks ---- */

/* The work is the calling thread's from now on. To be called before its first look. */
void foreign_looks_join(struct foreign_looks *looks);

/*
 * A look begins; one may be inside another. With NULL for `looks` nobody supervises. Returns 0;
 * -EBUSY: not now, it would hang; -ECANCELED: the work was taken away. Each 0 needs an end.
 */
int foreign_look_begin(struct foreign_looks *looks, u64 what);

/*
 * 0, or -ECANCELED if the work was taken away during the look: then the thread ends, and touches
 * nothing but what is its own, not even `looks`.
 */
int foreign_look_end(struct foreign_looks *looks);

/* Was the work of the calling thread taken away? */
bool foreign_work_is_taken(void);

/* ---- who supervises, one thread ---- */

/* Takes the work away if the look lasts too long: true, and it needs a new thread. */
bool foreign_looks_take(struct foreign_looks *looks);

/* How many threads came back late: when there are more, what was skipped is worth a look. */
u64 foreign_looks_returned(struct foreign_looks *looks);

#endif
