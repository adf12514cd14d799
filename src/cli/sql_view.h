/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `fathom sql`: a table on a terminal, columns with tabs elsewhere, or JSON. */
#ifndef CLI_SQL_VIEW_H
#define CLI_SQL_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "store/sql.h"

struct sql_view;

/* The stream is borrowed. NULL: no memory. */
struct sql_view *sql_view_open(FILE *file, bool is_json);

/* Takes the answer for the view. */
struct sql_taker sql_view_taker(struct sql_view *view);

/* Prints what is left and frees the view. 0, or a negative errno. */
int sql_view_end(struct sql_view *view);

/* Frees the view. */
void sql_view_drop(struct sql_view *view);

#endif
