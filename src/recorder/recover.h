/* SPDX-License-Identifier: Apache-2.0 */
/* What a crash left of a recording, before the next one goes on there. */
#ifndef RECORDER_RECOVER_H
#define RECORDER_RECOVER_H

#include <stddef.h>

#include "base/error.h"
#include "chunk/chunk.h"

/*
 * recording_recover(): tells on stderr, a line each, which chunks stay as they are, and counts
 * them. 0 or a negative errno; `left` may be NULL.
 */
int recover_tell(const char *dir, const struct recording_hold *hold, size_t *left, struct error *e);

#endif
