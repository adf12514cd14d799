/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `fathom top`. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "answer/live.h"
#include "cli/terminal.h"

/*
 * Writes a table for each part, with a bar for each row. They take at most `lines` lines, which
 * the parts share; 0: no limit.
 */
void top_write_text(const struct terminal *t, const struct live *top, int lines);

#endif
