/* SPDX-License-Identifier: Apache-2.0 */
/* A report as text: an aligned table with a bar for each row. */
#ifndef CLI_REPORT_TEXT_H
#define CLI_REPORT_TEXT_H

#include "answer/report.h"
#include "cli/terminal.h"

/*
 * Writes the table. On a terminal it fits the width: the bar shrinks, names are cut, and columns
 * are left out, which the last line says. In a file no name is cut.
 */
void report_write_text(const struct terminal *t, const struct report *report);

#endif
