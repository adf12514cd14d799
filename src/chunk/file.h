/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers over files in a directory that is open. */
#ifndef CHUNK_FILE_H
#define CHUNK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a regular file for reading; a FIFO or device is -EINVAL. Descriptor or negative errno. */
int file_open_regular(int dir, const char *name);

/*
 * Makes a file for writing, readable by its owner alone: the owner of the
 * directory. Descriptor or negative errno: -EEXIST if there is something of that
 * name (a link, too); file_create() takes that away first.
 */
int file_make(int dir, const char *name);
int file_create(int dir, const char *name);

/* Opens a regular file that has no other name, for writing. Descriptor or negative errno. */
int file_open_write(int dir, const char *name);

/* Reads until `len` bytes are there or the file ends: bytes read or negative errno. */
ssize_t file_read_at(int fd, void *data, size_t len, uint64_t offset);

/* Writes all of it: 0 or negative errno. */
int file_write(int fd, const void *data, size_t len);

/* Replaces a file by rename, with fsync if `sync`. */
int file_replace(int dir, const char *name, const void *data, size_t len, bool sync);

/* All of a regular file, at most `max` bytes (-EFBIG); free() it. NUL behind. */
int file_read_all(int dir, const char *name, size_t max, void **data, size_t *len);

#endif
