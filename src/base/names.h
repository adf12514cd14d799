/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of names in one text, "a,b": each name once, in the order in which it came. A name for
 * which the text has no room is left out.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>

/* Adds to `list`, a text of at most `size` bytes with its NUL, those names of `more` that it lacks.
 */
void names_join(char *list, size_t size, const char *more);

#endif
