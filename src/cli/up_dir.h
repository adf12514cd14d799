/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of `fathom up` and `fathom serve`. */
#ifndef CLI_UP_DIR_H
#define CLI_UP_DIR_H

#include "cli/option.h"

#define UP_DIR_BYTES 4096

/* The directory that was asked for or, for NULL, the usual one of the caller, put into `text`. */
const char *up_dir(const char *asked, char text[UP_DIR_BYTES]);

/*
 * Replaces each operand that is the directory of a `fathom up` by its recording. 0 or -ENOMEM.
 */
int up_dir_recordings(struct operands *operands, struct error *e);

#endif
