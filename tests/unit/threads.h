/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads this process has. */
#ifndef TESTS_UNIT_THREADS_H
#define TESTS_UNIT_THREADS_H

#include <dirent.h>
#include <unistd.h>

static inline int threads_count(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* Waits until there are so many, 10 s at most; how many there are then. */
static inline int threads_await(int count)
{
	for (int i = 0; i < 10000 && threads_count() != count; i++)
		usleep(1000);
	return threads_count();
}

#endif
