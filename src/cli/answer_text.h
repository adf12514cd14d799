/* SPDX-License-Identifier: Apache-2.0 */
/* The lines below an answer: what is missing from it, and why. */
#ifndef CLI_ANSWER_TEXT_H
#define CLI_ANSWER_TEXT_H

#include "answer/source.h"
#include "cli/terminal.h"

/* Writes what is missing from the answer, a line each; nothing if nothing is missing. */
void source_write_text(const struct terminal *t, const struct source_view *source);

#endif
