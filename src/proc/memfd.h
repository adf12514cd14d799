/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds memfds of a process by name, seals and size. libfathom's rings are such files: they are
 * named "fathom_ring" and have the seals and the size of lib/app_ring.h.
 */
#ifndef PROC_MEMFD_H
#define PROC_MEMFD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/record.h"

/* A memfd that the caller knows already. */
struct memfd_known {
	u64 inode, device;
	bool mapped; /* set by memfd_find() if the process has it mapped */
};

struct memfd_wanted {
	const char *name;	   /* as given to memfd_create() */
	int seals;		   /* F_SEAL_*: it has at least these */
	u64 size_bytes;		   /* it has exactly this size */
	struct memfd_known *known; /* these are not opened again */
	size_t known_count;
};

struct memfd_found {
	int fd;		   /* to read and write; the caller's */
	u64 inode, device; /* identify it as long as it exists */
};

/*
 * Looks for such memfds in the shared mappings of a process, and also in its descriptors if a
 * mapping cannot be opened. A file with the name but other seals or another size does not count.
 * Of very many mapped files of that name, only the first few unknown ones are opened.
 *
 * Returns how many were found, at most `room`; their descriptors in `out` are the caller's. Or a
 * negative errno, and nothing in `out` is the caller's: -ESRCH if the process is gone; -ENXIO if a
 * mapped file cannot be opened, since CAP_CHECKPOINT_RESTORE is missing and the process has closed
 * its descriptor. Several threads may call this at once.
 */
int memfd_find(pid_t pid, const struct memfd_wanted *wanted, struct memfd_found *out, size_t room,
	       struct error *e);

#endif
