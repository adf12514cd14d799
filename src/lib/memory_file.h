/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory that a program it is made in does not notice. Internal to src/lib. */
#ifndef LIB_MEMORY_FILE_H
#define LIB_MEMORY_FILE_H

#include <stddef.h>

/*
 * memfd_create() of a file of `bytes` zero bytes. Its descriptor, the caller's to close, is none
 * of 0 to 2, which the program may have closed and expects to get, or to stay closed. Negative
 * errno: -EFBIG where RLIMIT_FSIZE allows no such file, and then no signal comes of it either.
 * Async-signal-safe, threads may call it at once; between fathom_quiet_begin() and its end.
 */
int fathom_memory_file_create(const char *name, unsigned int flags, size_t bytes);

#endif
