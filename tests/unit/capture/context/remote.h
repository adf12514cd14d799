/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a thread as a stopped one shows it: what kernel programs must find, too. */
#ifndef TESTS_UNIT_CAPTURE_CONTEXT_REMOTE_H
#define TESTS_UNIT_CAPTURE_CONTEXT_REMOTE_H

#include "capture/context/locate.h"

/*
 * Reads the context that a thread publishes just now, by stopping it for a
 * moment with ptrace and following the location as kernel programs do.
 * Returns 1 and the context, 0 if no valid one is set, or a negative errno.
 */
int context_read_remote(pid_t tid, const struct context_location *location, struct context *out,
			struct error *e);

#endif
