/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that `fathom record` prints about what it records, and how much that is. */
#ifndef CLI_RECORD_LINES_H
#define CLI_RECORD_LINES_H

#include <stdio.h>

#include "cli/record_options.h"

/*
 * Prints the level and the scope of a recording that has begun. Of a command alone, which may write
 * to the same file, it prints only a level that is neither given nor the usual one.
 */
void record_begin_print(FILE *file, const struct record_options *o,
			const struct operands *operands);

/* Prints how many bytes an hour has, if `bytes` were written in duration_ns, not 0. */
void record_rate_print(FILE *file, uint64_t bytes, uint64_t duration_ns, bool compress);

#endif
