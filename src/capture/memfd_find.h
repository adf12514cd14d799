/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a memfd that a process shares by its name: the ring of libfathom, say
 * ("fathom_ring" with the seals and the size of lib/app_ring.h).
 */
#ifndef CAPTURE_MEMFD_FIND_H
#define CAPTURE_MEMFD_FIND_H

#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

struct memfd_wanted {
	const char *name; /* as given to memfd_create() */
	int seals;	  /* F_SEAL_*: at least these */
	u64 size_bytes;	  /* exactly */
};

struct memfd_found {
	int fd;		   /* to read and write; the caller's */
	u64 inode, device; /* its identity while it exists */
};

/*
 * Looks for it in the shared mappings of a process, in its descriptors too if
 * it may not be opened through a mapping. What has the name but not the seals
 * and the size is none. A forked child may still show its parent's: compare
 * the inode with those that are known.
 * Returns 1 and the memfd, 0 if there is none, or a negative errno (-ESRCH: the
 * process is gone). `out` is untouched unless 1. Threads may call it at once.
 */
int memfd_find(pid_t pid, const struct memfd_wanted *wanted, struct memfd_found *out,
	       struct error *e);

#endif
