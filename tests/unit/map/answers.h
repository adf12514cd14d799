/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that comes of mapping records, whole or in pieces (pieces.h), as text, to be compared to the
 * byte.
 */
#ifndef TESTS_ANSWERS_H
#define TESTS_ANSWERS_H

#include "pieces.h"

/* What is known of the time from from_ns on, names included. Frees the partial. */
char *answers_since(struct partial *p, const struct simulation *s, u64 from_ns);

/* Everything that a partial knows when it is finished. Frees the partial; free the text. */
char *answers(struct partial *p, const struct simulation *s);

/* Prints the line in which two texts first differ. */
void print_difference(const char *whole, const char *cut);

/* Ends a test of check.h where two texts differ, and says of which simulation and step of it. */
#define CHECK_ANSWERS(whole, other, seed, step)                                                    \
	do {                                                                                       \
		if (strcmp(whole, other) != 0) {                                                   \
			print_difference(whole, other);                                            \
			CHECK_FAIL("seed %llu, %llu", (unsigned long long)(seed),                  \
				   (unsigned long long)(step));                                    \
		}                                                                                  \
	} while (0)

#endif
