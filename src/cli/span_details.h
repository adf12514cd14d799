/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say of a span behind its bar: arguments, results, files, peers, wakers. */
#ifndef CLI_SPAN_DETAILS_H
#define CLI_SPAN_DETAILS_H

#include "cli/view.h"
#include "span/span.h"

/* The details in what is left of the line: `room` columns, where lines must end at the width. */
void span_details_write(const struct terminal *t, const struct span *span, int room);

/* "  key=value  key=value" */
void attributes_write(const struct terminal *t, const struct attribute *list, size_t count);

#endif
