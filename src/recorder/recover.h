/* SPDX-License-Identifier: Apache-2.0 */
/* Recovers chunks that a crash left, before the next recording in a directory. */
#ifndef RECORDER_RECOVER_H
#define RECORDER_RECOVER_H

#include <stddef.h>

#include "base/error.h"
#include "chunk/chunk.h"

/*
 * Calls recording_recover(). Prints a line on stderr for each chunk that could not be recovered,
 * and sets *left (unless NULL) to their number. 0 or a negative errno.
 */
int recover_report(const char *dir, const struct recording_hold *hold, size_t *left,
		   struct error *e);

#endif
