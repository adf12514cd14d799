/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/cpu_time.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

u64 process_cpu_ns(pid_t pid)
{
	char path[32], text[1024];
	u64 user, kernel, children_user, children_kernel;
	const char *behind;
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	behind = strrchr(text, ')'); /* the name before it may contain anything */
	if (!behind || sscanf(behind,
			      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			      " %" SCNu64 " %" SCNu64,
			      &user, &kernel, &children_user, &children_kernel) != 4)
		return 0;
	return (user + kernel + children_user + children_kernel) * 1000000000u /
	       (u64)sysconf(_SC_CLK_TCK);
}
