/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as JSON. docs/man/fathom-trace.1 lists the keys. */
#ifndef SPAN_JSON_H
#define SPAN_JSON_H

#include "base/json.h"
#include "span/span.h"

/*
 * Writes a span as a value of the array that was begun last. The trace id is not written: the
 * document has it with the trace.
 */
void span_write_json(struct json *j, const struct span *span);

/* Writes a split as the key "time": an object with the nanoseconds of each part. */
void split_write_json(struct json *j, const struct split *split);

#endif
