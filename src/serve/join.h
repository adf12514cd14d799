/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_JOIN_H
#define SERVE_JOIN_H

#include "base/pool.h"
#include "span/received.h"

/*
 * Joins spans of which map saw only the context with the received spans of the same ids: the time
 * split and the other attributes that begin with `fathom.` go over, with `fathom.join` "context"
 * unless it says how it was joined, and the span of the context goes. What the split lacks of the
 * received span's duration is `fathom.time.unknown_ns`, unless several threads had the span at
 * once. One that no received span has the ids of, or several have, stays, and gets its id as its
 * name: nobody told how the span is called. New attributes are in the pool. A span without a
 * parent, or with one above the request within which it ran, gets that request: the span of its
 * trace that names it as `fathom.child`. 0 or -ENOMEM.
 */
int spans_join(struct received_batch *batch, struct pool *pool);

/*
 * In place of that: takes away what fathom added, so that spans are as applications sent them. What
 * goes are spans of contexts, of the kernel and of requests that were followed, and attributes that
 * begin with "fathom.". 0 or -ENOMEM.
 */
int spans_strip(struct received_batch *batch, struct pool *pool);

#endif
