/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/file_limit.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static struct sigaction limit_before;

/* Runs in each child: a command gets the signal dispositions that fathom was started with. */
static void limit_give_back(void)
{
	sigaction(SIGXFSZ, &limit_before, NULL);
}

void file_limit_ignore(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (sigaction(SIGXFSZ, &ignore, &limit_before) == 0)
		pthread_atfork(NULL, NULL, limit_give_back);
}
