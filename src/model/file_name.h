/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files: of those that have no path what readlink of /proc/PID/fd/N says, and paths. */
#ifndef MODEL_FILE_NAME_H
#define MODEL_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

/*
 * "socket:[7]", "pipe:[7]", "anon_inode:[eventfd]": known from what the kernel
 * said at use alone. False, and nothing written, for a file of another kind.
 * Thread-safe.
 */
bool file_name(char *buf, size_t size, const struct file_ref *file);

/*
 * Folds `//` and `/./`, in place; what only the file system can tell is left as
 * it is. Thread-safe.
 */
void file_path_fold(char *path);

/* False: that would change nothing. */
bool file_path_may_fold(const char *path);

#endif
