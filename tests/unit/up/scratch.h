/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for the tests of a program, of which the last one removes it. */
#ifndef TESTS_UNIT_UP_SCRATCH_H
#define TESTS_UNIT_UP_SCRATCH_H

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static char scratch_path[PATH_MAX];
static int scratch_fd = -1;

/* Makes the folder if it is not there; its descriptor is good until it is removed. */
static inline int scratch_make(void)
{
	if (scratch_fd >= 0)
		return scratch_fd;
	strcpy(scratch_path, "/tmp/fathom-unit-XXXXXX");
	CHECK(mkdtemp(scratch_path) != NULL);
	scratch_fd = open(scratch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(scratch_fd >= 0);
	return scratch_fd;
}

static inline void scratch_remove(void)
{
	char command[PATH_MAX + 16];

	if (scratch_fd < 0)
		return;
	close(scratch_fd);
	scratch_fd = -1;
	snprintf(command, sizeof(command), "rm -rf '%s'", scratch_path);
	CHECK_EQ(system(command), 0);
}

#endif
