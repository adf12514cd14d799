/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#define TEXT_DISTANCE_FAR 99

/*
 * How many letters must be added, left out or changed to make one of the other.
 * TEXT_DISTANCE_FAR if one of them is longer than 64.
 */
int text_distance(const char *a, const char *b);

#endif
