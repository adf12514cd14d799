/* SPDX-License-Identifier: Apache-2.0 */
/* Whom recordings are made for. */
#ifndef RECORDER_OWNER_H
#define RECORDER_OWNER_H

#include "chunk/chunk.h"

/*
 * The user who called fathom, by way of sudo or of a set-uid bit, too: who may
 * record by these means reads the recording without them. NULL if that is the
 * effective user. Static memory; thread-safe.
 */
const struct chunk_owner *owner_find(void);

#endif
