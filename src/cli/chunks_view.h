/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of a recording as a table, with a line for their sums. */
#ifndef CLI_CHUNKS_VIEW_H
#define CLI_CHUNKS_VIEW_H

#include "answer/chunks.h"
#include "cli/terminal.h"

void chunks_write_text(const struct terminal *t, const struct chunk_row *rows, size_t count);

#endif
