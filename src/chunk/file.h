/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers for files in an open directory. */
#ifndef CHUNK_FILE_H
#define CHUNK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a regular file for reading. Returns a descriptor, -EINVAL for a FIFO or a device, or an
 * errno. */
int file_open_regular(int dir, const char *name);

/*
 * Makes a file for writing that only its owner, the owner of the directory, can access.
 * Returns a descriptor or a negative errno: -EEXIST if the name exists, also as a link.
 * file_create() removes such a name first.
 */
int file_make(int dir, const char *name);
int file_create(int dir, const char *name);

/* Opens a regular file without other names for writing. Returns a descriptor or a negative errno.
 */
int file_open_write(int dir, const char *name);

/* Reads `len` bytes, or up to the end of the file. Returns the bytes read or a negative errno. */
ssize_t file_read_at(int fd, void *data, size_t len, uint64_t offset);

/* Writes all bytes. 0 or a negative errno. */
int file_write(int fd, const void *data, size_t len);

/* Replaces a file by a rename, with fsync if `sync`. 0 or a negative errno. */
int file_replace(int dir, const char *name, const void *data, size_t len, bool sync);

/*
 * Reads a regular file of at most `max` bytes (-EFBIG), and adds a NUL. The caller frees *data. 0
 * or a negative errno.
 */
int file_read_all(int dir, const char *name, size_t max, void **data, size_t *len);

/* The same of a file that is open; -EINVAL if it is not a regular file. */
int file_read_open(int fd, size_t max, void **data, size_t *len);

#endif
