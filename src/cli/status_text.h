/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Prints the document of up/status.h for people. -EPROTO if it is none. */
int status_text_print(FILE *file, const void *document, size_t bytes, struct error *e);

/*
 * Prints a line for each monitor that is red, `most` at most, and one for what the budget leaves
 * out now. Returns how many.
 */
unsigned int status_red_print(FILE *file, const void *document, size_t bytes, unsigned int most);

#endif
