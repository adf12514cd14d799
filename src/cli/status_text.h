/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Prints the document of up/status.h for people. -EPROTO if it is none. */
int status_text_print(FILE *file, const void *document, size_t bytes, struct error *e);

#endif
