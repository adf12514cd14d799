/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/up_dir.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *up_dir(const char *asked, char text[UP_DIR_BYTES])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const char *set = getenv("FATHOM_OUTPUT");
	bool has_state = state && *state == '/';

	if (asked || (set && *set))
		return asked ? asked : set;
	if (geteuid() == 0)
		return "/var/lib/fathom";
	snprintf(text, UP_DIR_BYTES, "%s%s/fathom",
		 has_state	 ? state
		 : home && *home ? home
				 : ".",
		 has_state ? "" : "/.local/state");
	return text;
}

int up_dir_recordings(struct operands *operands, struct error *e)
{
	for (size_t i = 0; i < operands->count; i++) {
		char path[UP_DIR_BYTES], *copy;
		int n = snprintf(path, sizeof(path), "%s/chunks/.lock", operands->items[i]);

		if (n >= (int)sizeof(path) || access(path, F_OK) != 0)
			continue;
		path[n - (int)strlen("/.lock")] = '\0';
		copy = strdup(path);
		if (!copy || vec_push(&operands->made, copy)) {
			free(copy);
			return error_set(e, ENOMEM, "cannot read the command line");
		}
		operands->items[i] = copy;
	}
	return 0;
}
