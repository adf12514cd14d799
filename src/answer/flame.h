/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a flame graph: one SVG that needs nothing else. A box is a function, its width the
 * time in it and in what it called; its callers are below it. The script in it searches names and
 * zooms; without the script the picture is whole.
 */
#ifndef ANSWER_FLAME_H
#define ANSWER_FLAME_H

#include "answer/profile.h"
#include "base/bytes.h"

/* Appends the document. `title` is its heading. 0 or -ENOMEM. */
int flame_write(const struct profile *profile, const char *title, struct bytes *out);

#endif
