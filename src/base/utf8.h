/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the valid UTF-8 sequence at `text`, which has `bytes`, not 0; 0 if it is invalid.
 */
size_t utf8_length(const void *text, size_t bytes);

/* Whether a text is valid UTF-8 without NUL. */
bool utf8_is_clean(const char *text, size_t bytes);

/*
 * Copies a text of `bytes` as valid UTF-8 without NUL, and ends it with NUL: what is invalid
 * becomes U+FFFD. `to` holds 3 * bytes + 1. Returns the length without the NUL.
 */
size_t utf8_clean(char *to, const char *text, size_t bytes);

#endif
