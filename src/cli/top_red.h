/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_RED_H
#define CLI_TOP_RED_H

#include <stdio.h>

/*
 * Prints a line for each red monitor, and for what is left out now, of the `fathom up` that a
 * recording belongs to: its folder `chunks`; NULL: of the one in the usual directory. Returns how
 * many lines; 0 if none runs there.
 */
unsigned int top_red_print(FILE *file, const char *recording);

#endif
