/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files that other processes have mapped, in looks that somebody supervises.
 *
 * What a hang is blamed on: the way to the file on its process, which can have anything in its
 * way; what the file itself is asked on the device of its mapping.
 */
#ifndef PROC_MAPPED_FILE_H
#define PROC_MAPPED_FILE_H

#include <sys/stat.h>

#include "proc/look.h"

/* As a line of /proc/PID/maps says it. */
struct foreign_file {
	pid_t pid;	/* 0: whose it was is gone; it is looked for by its name in our own root */
	u64 start, end; /* of a mapping of it */
	u64 inode;
	u32 major, minor;
	const char *name; /* as its process calls it; other than a path: it has none */
};

/*
 * Finds the mapped file itself: through the mapping, which needs more privilege than root, or by
 * its name in its process's root, if that has its inode. Returns a
 * descriptor (O_PATH) that the caller closes, with the file's facts in *info (untouched on
 * failure), or a negative errno: -EBUSY if it would hang, -ECANCELED as foreign_look_end().
 */
int foreign_file_find(struct foreign_looks *looks, const struct foreign_file *file,
		      struct stat *info);

/*
 * Opens what was found to be read, gives it to read(arg, fd), and closes it, all in one look.
 * Returns what read() did, or a negative errno as above. As the work can be taken away meanwhile,
 * `arg` must be the calling thread's own.
 */
int foreign_file_read(struct foreign_looks *looks, const struct foreign_file *file, int found,
		      int (*read)(void *arg, int fd), void *arg);

#endif
