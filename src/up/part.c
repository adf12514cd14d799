/* SPDX-License-Identifier: Apache-2.0 */
#include "up/part.h"

#include <signal.h>

bool part_is_asked_to_end(uint64_t wait_ns)
{
	const struct timespec time = {(time_t)(wait_ns / 1000000000u),
				      (long)(wait_ns % 1000000000u)};
	static bool asked;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	asked = asked || sigtimedwait(&ends, NULL, &time) == SIGTERM;
	return asked;
}

void part_runs(struct part_context *c, enum up_part part)
{
	c->board->parts[part].why[0] = '\0';
	atomic_store(&c->board->parts[part].state, PART_RUNNING);
}
