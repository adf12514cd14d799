/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder on a thread of this process, with a temporary directory, for a caller that looks at
 * the recording while it goes on.
 */
#ifndef RECORDER_BACKGROUND_H
#define RECORDER_BACKGROUND_H

#include "recorder/recorder.h"

struct background;

/*
 * Makes a directory below TMPDIR, or /tmp, and records into it on a thread of its own. `options`
 * says what; its `dir` is ignored, and what it points to is borrowed until background_close(). The
 * calling thread loses the capabilities that the recorder does not need. 0 or a negative errno.
 * Free it with background_close() in any case.
 */
int background_open(struct background **out, const struct recorder_options *options,
		    struct error *e);

/* The directory of the recording. */
const char *background_dir(const struct background *b);

/*
 * Ends the recording. 0, or the negative errno and the causes for which the recorder failed. The
 * second call returns the same.
 */
int background_end(struct background *b, struct error *e);

/* Ends the recording and removes its directory. NULL is allowed. */
void background_close(struct background *b);

#endif
