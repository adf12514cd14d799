/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a recording without -o lies: in a new fathom.data. What was there becomes
 * fathom.data.old, but only when the new recording has begun: one that cannot begin
 * costs nothing. Until then it is called fathom.data.new. One thread.
 */
#ifndef RECORDER_DEFAULT_DIR_H
#define RECORDER_DEFAULT_DIR_H

#include "base/error.h"

#define DEFAULT_DIR "fathom.data" /* in the folder in which fathom is called */

/*
 * Makes the directory, in *dir (static), and makes sure that it can take its place. What
 * a crash left of an earlier recording is recovered. -EBUSY if one is going on there.
 */
int default_dir_begin(const char **dir, struct error *e);

/* The recording has begun: it takes its place. *dir becomes its name. */
int default_dir_settle(const char **dir, struct error *e);

/* It has not begun: nothing of it stays. */
void default_dir_abandon(void);

#endif
