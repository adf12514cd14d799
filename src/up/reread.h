/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a trace are read again, for all kernel spans of its spans. */
#ifndef UP_REREAD_H
#define UP_REREAD_H

#include "base/error.h"
#include "base/pool.h"
#include "span/received.h"

#define REREAD_CHUNKS_MAX 64

/*
 * Appends the kernel spans of the spans in the batch, which are of one trace: of those whose thread
 * is known. `dir` is a descriptor of the directory of `fathom up`, and `path` a path to it. The
 * chunks are those that are left, else those of a pin. Whatever the new spans point to is in the
 * pool. 0; -ENOENT: no chunk of that time is left; -E2BIG: the trace is too long; or another
 * negative errno.
 */
int reread_kernel(int dir, const char *path, struct received_batch *batch, struct pool *pool,
		  struct error *e);

#endif
