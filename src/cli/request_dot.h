/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of requests for Graphviz. */
#ifndef CLI_REQUEST_DOT_H
#define CLI_REQUEST_DOT_H

#include <stdio.h>

#include "answer/rows.h"
#include "answer/trace.h"

/* Writes the spans of one trace, an arrow for each call; unsure ones are dashed. 0 or -ENOMEM. */
int request_dot_trace(FILE *file, const struct trace *trace);

/* Writes who calls whom, of rows by edge. */
void request_dot_edges(FILE *file, const struct row *rows, size_t count);

#endif
