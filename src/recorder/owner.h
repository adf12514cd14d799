/* SPDX-License-Identifier: Apache-2.0 */
/* The user for whom recordings are made. */
#ifndef RECORDER_OWNER_H
#define RECORDER_OWNER_H

#include "chunk/chunk.h"

/*
 * The user who called fathom, also through sudo or a set-uid bit. This user can then
 * read the recording without these means. NULL if that is the effective user. Static
 * memory; thread-safe.
 */
const struct chunk_owner *owner_find(void);

/* Makes recordings of this process for another user. Call it before recorder_open(). */
void owner_set(const struct chunk_owner *of);

#endif
