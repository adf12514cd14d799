/* SPDX-License-Identifier: Apache-2.0 */
#include "base/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_program(const char *folder, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash = NULL;

	for (int up = 0; up < 2 && n > 0; up++) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		n = slash ? slash - path : 0;
	}
	if (!slash)
		return false;
	return snprintf(slash, (size_t)(PATH_MAX - n), "/%s", folder) < PATH_MAX - n;
}
