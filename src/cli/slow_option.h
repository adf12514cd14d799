/* SPDX-License-Identifier: Apache-2.0 */
/* The option --slow: what counts as slow, in place of what is usual for an operation. */
#ifndef CLI_SLOW_OPTION_H
#define CLI_SLOW_OPTION_H

#include "base/error.h"
#include "up/chooser.h"

struct option_slow {
	struct chooser_rule *data; /* owned, as are their texts */
	size_t count;
};

/*
 * [SERVICE[:OPERATION]=]TIME, several with commas; a later one has precedence. "*" is any service.
 * Fills in a struct option_slow, in place of what it had.
 */
int option_slow(void *field, const char *text, struct error *e);

void option_slow_free(struct option_slow *slow);

#endif
