/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/up_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *up_dir(const char *asked, char text[UP_DIR_BYTES])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	bool has_state = state && *state == '/';

	if (asked)
		return asked;
	if (geteuid() == 0)
		return "/var/lib/fathom";
	snprintf(text, UP_DIR_BYTES, "%s%s/fathom",
		 has_state	 ? state
		 : home && *home ? home
				 : ".",
		 has_state ? "" : "/.local/state");
	return text;
}
