/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of `fathom up` and `fathom serve`. */
#ifndef CLI_UP_DIR_H
#define CLI_UP_DIR_H

#define UP_DIR_BYTES 4096

/* The directory that was asked for or, for NULL, the usual one of the caller, put into `text`. */
const char *up_dir(const char *asked, char text[UP_DIR_BYTES]);

#endif
