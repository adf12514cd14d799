// SPDX-License-Identifier: Apache-2.0
#include "proc/line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX 1024 /* the longest such file of the kernel has below 100 */

/* A line may come in several pieces. Only its first piece can begin with the name. */
static int line_find(FILE *file, const char *name, char *rest, size_t size)
{
	char text[512];
	size_t len = strlen(name);
	bool begins = true;
	unsigned int lines = 0;

	while (lines < LINES_MAX && fgets(text, sizeof(text), file)) {
		size_t end = strcspn(text, "\n");

		if (begins && strncmp(text, name, len) == 0) {
			text[end] = '\0';
			snprintf(rest, size, "%s", text + len);
			return 0;
		}
		begins = text[end] == '\n';
		lines += begins;
	}
	return ferror(file) ? -errno : -EPROTO;
}

int proc_line_read(const char *path, const char *name, char *rest, size_t size)
{
	FILE *file = fopen(path, "re");
	char buffer[4096]; /* most such files are one read */
	int err;

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	err = line_find(file, name, rest, size);
	fclose(file);
	return err;
}
