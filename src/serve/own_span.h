/* SPDX-License-Identifier: Apache-2.0 */
/* Received spans as fathom's own query API shows them. */
#ifndef SERVE_OWN_SPAN_H
#define SERVE_OWN_SPAN_H

#include "base/json.h"
#include "span/received.h"

/*
 * Writes the arrays "spans", "resources" and "scopes". Each span has the numbers of its resource
 * and its scope in the other arrays, from 0. 0 or -ENOMEM.
 */
int own_spans_write(struct json *j, const struct received_batch *batch);

/* Writes a span as an object, without its resource and its scope. */
void own_span_write(struct json *j, const struct received_span *span);

#endif
