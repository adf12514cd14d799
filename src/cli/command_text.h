/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines in a width that fits. */
#ifndef CLI_COMMAND_TEXT_H
#define CLI_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes a command in at most `columns` bytes if leaving out words makes it fit: words that came
 * before, then options, from the last on, long ones first. What names the work stays: the program
 * and its operands, as in "cc1 -quiet main.c". The rest is cut. Of a title that a program gave
 * itself ("postgres: shop idle") no word is left out.
 */
void command_shorten(const char *command, int columns, char *text, size_t size);

/* Whether the program of a command, or the script that it runs, has this comm, which may be cut. */
bool command_is_of(const char *command, const char *comm);

#endif
