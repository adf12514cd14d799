/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `floor [CMD ARG ...]`: runs CMD while programs that do nothing are attached to the hot
 * tracepoints. Without CMD they stay attached until a signal ends this program.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "floor.skel.h"

int main(int argc, char **argv)
{
	struct floor *floor = floor__open_and_load();
	int status = 1;
	pid_t child;

	if (!floor || floor__attach(floor)) {
		fprintf(stderr, "floor: cannot load programs\n");
		floor__destroy(floor);
		return 1;
	}
	if (argc < 2) {
		signal(SIGINT, SIG_DFL); /* a shell ignores SIGINT for a job in the background */
		pause();
		floor__destroy(floor);
		return 0;
	}
	child = fork();
	if (child == 0) {
		execv(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		perror("floor");
	floor__destroy(floor);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
