/* SPDX-License-Identifier: Apache-2.0 */
/* Where files of fathom lie: in folders beside that of its program. */
#ifndef BASE_BESIDE_H
#define BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* The path ../FOLDER beside DIR, for a program DIR/fathom. False if that is not known. */
bool beside_program(const char *folder, char path[PATH_MAX]);

#endif
