/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorder has to do without. Lists of names are texts, "a,b": each name once, in the order
 * in which it came, and none of those for which no room is left.
 */
#ifndef CLI_MISSING_H
#define CLI_MISSING_H

#include "capture/capture.h"

/* Adds those names of another list that a list has not. */
void names_join(char *list, size_t size, const char *more);

/*
 * The tracepoints whose records are missing from what a capture records that has these features
 * and is attached: the kernel has neither them nor what could stand in for them.
 */
void missing_list(const struct capture_feature *features, size_t count, char *list, size_t size);

#endif
