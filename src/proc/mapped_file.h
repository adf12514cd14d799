/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files that other processes have mapped, in looks that are supervised (proc/look.h).
 *
 * If walking the path to the file hangs, the object that counts as hanging is the process, which
 * can put anything into the path. If the file itself hangs, it is the device of the mapping.
 */
#ifndef PROC_MAPPED_FILE_H
#define PROC_MAPPED_FILE_H

#include <sys/stat.h>

#include "proc/look.h"

/* A mapped file, as a line of /proc/PID/maps describes it. */
struct foreign_file {
	pid_t pid;	/* 0: the process is gone; the file is looked up by name in our own root */
	u64 start, end; /* of a mapping of it */
	u64 inode;
	u32 major, minor;
	const char *name; /* the path as the process sees it; anything else: the file has no path */
};

/*
 * Finds the file through the mapping (/proc/PID/map_files), which needs CAP_CHECKPOINT_RESTORE in
 * the initial user namespace, or else by its name in the root of the process, if the file there has
 * the same inode. Returns a descriptor (O_PATH) that the caller closes, and the result of fstat()
 * in *info, which is untouched on failure. Negative errno: -EBUSY if it would hang, -ECANCELED like
 * foreign_look_end().
 */
int foreign_file_find(struct foreign_looks *looks, const struct foreign_file *file,
		      struct stat *info);

/*
 * Opens the file that was found for reading, calls read(arg, fd), and closes it, all in one look.
 * Returns the result of read(), or a negative errno as above. The work can be taken away during
 * this, so `arg` must not be shared with other threads.
 */
int foreign_file_read(struct foreign_looks *looks, const struct foreign_file *file, int found,
		      int (*read)(void *arg, int fd), void *arg);

#endif
