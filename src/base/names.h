/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of names in one text, "a,b", with each name once, in the order in which they were added. A
 * name that does not fit is left out.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stddef.h>

/* Adds the names of `more` that `list` does not have. `list` holds `size` bytes with its NUL. */
void names_join(char *list, size_t size, const char *more);

#endif
