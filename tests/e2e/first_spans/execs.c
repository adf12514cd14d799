/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that executes its own file again and again, each time for a short span:
 *
 *	e2e-execs N [LIBRARY]
 *
 * It is there for 300 ms, then come N processes, one after the other:
 *
 *	child		100 calls of getppid, in the first moment of its process
 *
 * LIBRARY: then one more, with it in LD_PRELOAD, 300 ms before its span "elsewhere".
 */
#include <fathom/fathom.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100

static void pause_ms(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static int child_run(const char *name)
{
	struct fathom_span span = fathom_span_begin(name);

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	fathom_span_end(&span);
	pause_ms(20); /* long enough for its spans to be reached */
	return 0;
}

static int child_start(const char *program, const char *library)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execl(program, program, library ? "elsewhere" : "child", (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	int failed = 0;

	if (argc == 2 && argv[1][0] == 'c')
		return child_run("child");
	if (argc == 2 && argv[1][0] == 'e') {
		pause_ms(300);
		return child_run("elsewhere");
	}
	pause_ms(300);
	for (long i = 0; i < count; i++)
		failed |= child_start(argv[0], NULL);
	if (argc > 2)
		failed |= child_start(argv[0], argv[2]);
	return failed;
}
