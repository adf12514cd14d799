/* SPDX-License-Identifier: Apache-2.0 */
/* A critical path as text. */
#ifndef CLI_CRITICAL_TEXT_H
#define CLI_CRITICAL_TEXT_H

#include "answer/critical.h"
#include "cli/terminal.h"

/*
 * Writes a head, a line for each piece in the order of time, the longest one marked, and what took
 * most of the time. Short pieces of a long path are put together.
 */
void critical_text_write(const struct terminal *t, const struct critical_answer *a);

#endif
