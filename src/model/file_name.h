/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files without a path, as readlink of /proc/PID/fd/N shows them; and paths. */
#ifndef MODEL_FILE_NAME_H
#define MODEL_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

/*
 * Writes "socket:[7]", "pipe:[7]", "anon_inode:[eventfd]", from the file reference alone.
 * False, with nothing written, for a file of another kind. Thread-safe.
 */
bool file_name(char *buf, size_t size, const struct file_ref *file);

/*
 * Folds `//` and `/./` in place. Parts that only the file system can resolve are left
 * unchanged. Thread-safe.
 */
void file_path_fold(char *path);

/* Whether file_path_fold() would change the path. */
bool file_path_may_fold(const char *path);

#endif
