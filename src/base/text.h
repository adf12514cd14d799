/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#define TEXT_DISTANCE_FAR 99

/*
 * The number of letters to add, remove or change to turn one text into the other.
 * TEXT_DISTANCE_FAR if one of them is longer than 64.
 */
int text_distance(const char *a, const char *b);

#endif
