/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a recording without -o: a new fathom.data. An existing one becomes
 * fathom.data.old, but only when the new recording has begun, so a recording that
 * cannot begin changes nothing. Until then the new directory is called
 * fathom.data.new. For one thread.
 */
#ifndef RECORDER_DEFAULT_DIR_H
#define RECORDER_DEFAULT_DIR_H

#include "base/error.h"

#define DEFAULT_DIR "fathom.data" /* in the current directory */

/*
 * Makes the directory, checks that it can replace the existing one, and sets *dir to its
 * name (static). Recovers chunks that a crash left there. 0, -EBUSY if a recorder uses the
 * existing directory, or another negative errno.
 */
int default_dir_begin(const char **dir, struct error *e);

/*
 * The recording has begun: renames its directory to fathom.data, and sets *dir to that. 0 or a
 * negative errno.
 */
int default_dir_settle(const char **dir, struct error *e);

/* The recording has not begun: removes its directory. */
void default_dir_abandon(void);

#endif
