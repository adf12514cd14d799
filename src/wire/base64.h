/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in base64, as a string of JSON has them. */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/*
 * Appends the bytes that a text stands for, in either alphabet, with or without "=" at its end; "/"
 * may be written as "\/". False: it is no base64, and some of it may be appended.
 */
bool base64_put(struct bytes *to, const char *text, size_t bytes);

#endif
