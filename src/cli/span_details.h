/* SPDX-License-Identifier: Apache-2.0 */
/* The details of a span after its bar: arguments, results, files, peers, wakers. */
#ifndef CLI_SPAN_DETAILS_H
#define CLI_SPAN_DETAILS_H

#include "cli/terminal.h"
#include "span/span.h"

/* Writes the details in the rest of the line: `room` columns, if lines end at the width. */
void span_details_write(const struct terminal *t, const struct span *span, int room);

/* "  key=value  key=value" */
void attributes_write(const struct terminal *t, const struct attribute *list, size_t count);

#endif
