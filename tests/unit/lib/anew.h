/* SPDX-License-Identifier: Apache-2.0 */
/* The test program run anew, since the library reads what is around it once, at its start. */
#ifndef TESTS_LIB_ANEW_H
#define TESTS_LIB_ANEW_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/check.h"

/*
 * Runs one test of it, with its stdout closed off, as prepare(arg) leaves the child: its wait
 * status. 126 is the exit status if that fails.
 */
static inline int program_anew(const char *test, int (*prepare)(void *arg), void *arg)
{
	const char *preload = getenv("LD_PRELOAD");
	int status = -1;
	pid_t pid;

	if (preload && strstr(preload, "vgpreload"))
		SKIP("under valgrind, valgrind is the program that would be run");
	pid = fork();
	if (pid == 0) {
		int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(quiet, 1);
		if (prepare(arg) < 0)
			_exit(126);
		execl("/proc/self/exe", "anew", test, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

#endif
