/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a memfd without side effects on the program. Internal to src/lib. */
#ifndef LIB_MEMORY_FILE_H
#define LIB_MEMORY_FILE_H

#include <stddef.h>

/*
 * Makes a memfd of `bytes` zero bytes, and returns its descriptor, which the caller closes. It is
 * never one of 0 to 2: if the program has closed these, it expects them to stay free. Negative
 * errno: -EFBIG if RLIMIT_FSIZE does not allow such a file, and no signal is raised then.
 * Async-signal-safe. Several threads may call it at once, between fathom_quiet_begin() and
 * fathom_quiet_end().
 */
int fathom_memory_file_create(const char *name, unsigned int flags, size_t bytes);

#endif
