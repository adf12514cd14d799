/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memfds that a process shares by their name: rings of libfathom, say
 * ("fathom_ring" with the seals and the size of lib/app_ring.h).
 */
#ifndef PROC_MEMFD_H
#define PROC_MEMFD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

/* One that is known already. */
struct memfd_known {
	u64 inode, device;
	bool mapped; /* set by memfd_find(): it was seen to be mapped */
};

struct memfd_wanted {
	const char *name;	   /* as given to memfd_create() */
	int seals;		   /* F_SEAL_*: at least these */
	u64 size_bytes;		   /* exactly */
	struct memfd_known *known; /* passed over */
	size_t known_count;
};

struct memfd_found {
	int fd;		   /* to read and write; the caller's */
	u64 inode, device; /* its identity while it exists */
};

/*
 * Looks for them in the shared mappings of a process, in its descriptors too if
 * they may not be opened through a mapping. What has the name but not the seals
 * and the size is none. Of a process that maps very many of that name only the first few that
 * are not known are opened.
 * Returns how many were found, `room` at most, or a negative errno (-ESRCH: the
 * process is gone; -ENXIO: what is mapped may not be opened, by lack of CAP_CHECKPOINT_RESTORE, and
 * the process has closed its descriptor), and nothing of `out` is the caller's. Threads may call it
 * at once.
 */
int memfd_find(pid_t pid, const struct memfd_wanted *wanted, struct memfd_found *out, size_t room,
	       struct error *e);

#endif
