/* SPDX-License-Identifier: Apache-2.0 */
/* Tells an action of a change: a POST to a webhook, or a program. */
#ifndef MONITOR_ACTION_H
#define MONITOR_ACTION_H

#include <stdatomic.h>

#include "monitor/config.h"

#define ACTION_WHY_BYTES 160

/* A change that is told to an action. */
struct acting {
	const struct monitor_action *action;
	const char *monitor, *state; /* for the environment of a command */
	const char *payload;	     /* JSON */
	const atomic_bool *stop;     /* ends it early */
};

/*
 * Sends the payload. A redirect is not followed, and counts as a failure, as does each answer that
 * is none of 2xx. 0; -ECANCELED: it was stopped, and perhaps arrived; or another negative errno.
 * `why` says why it failed; it may name the host, but not the rest of the address, which may be a
 * secret. One thread calls it.
 */
int action_webhook(const struct acting *acting, char why[ACTION_WHY_BYTES]);

/*
 * Runs the command with the payload on its standard input, and without a shell. It has the
 * environment PATH, FATHOM_MONITOR and FATHOM_STATE. At the end of its time, its process group is
 * killed. It failed unless it ends with status 0. Results as above; `why` has the last line of the
 * first 4095 bytes that it wrote to standard error.
 */
int action_command(const struct acting *acting, char why[ACTION_WHY_BYTES]);

#endif
