/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time split as a bar of cells: a color for each part on a terminal, a
 * letter for each where there are no colors.
 */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include "cli/terminal.h"
#include "span/split.h"

/*
 * Distributes all `cells` cells to the parts in proportion (none if the split is empty). The
 * cells that rounding leaves go to the largest remainders, the first of equals first.
 */
void bar_apportion(const struct split *split, int cells, int parts[SPLIT_PARTS_COUNT]);

/* Writes `cells` columns. */
void bar_write(const struct terminal *t, const struct split *split, int cells);

/* Marks in `used` the parts that occur in a split. */
void bar_mark(const struct split *split, bool used[SPLIT_PARTS_COUNT]);

/* Explains the marked parts, in lines that fit a terminal; nothing if none is marked. */
void bar_legend(const struct terminal *t, const bool used[SPLIT_PARTS_COUNT]);
/* The number of these lines. */
int bar_legend_lines(const struct terminal *t, const bool used[SPLIT_PARTS_COUNT]);

/*
 * Writes "disk 62% user 30% kernel 8%": the largest parts first, at most `most`, without
 * those under 1 %. Returns the number of columns.
 */
int bar_percents(const struct terminal *t, const struct split *split, int most);

#endif
