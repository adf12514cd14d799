/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines in a width that fits. */
#ifndef CLI_COMMAND_TEXT_H
#define CLI_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes a command in at most `columns` bytes. If it is longer, words are left out until it fits,
 * from the last on: those that came before, options, long ones first, their values, and at last all
 * but names of files. So the program and what it works on stay: "cc1 main.c". The rest is cut. Of a
 * title that a program gave itself ("postgres: shop idle"), and of a script (sh -c), no word is
 * left out.
 */
void command_shorten(const char *command, int columns, char *text, size_t size);

/* Whether the program of a command, or the script that it runs, has this comm, which may be cut. */
bool command_is_of(const char *command, const char *comm);

#endif
