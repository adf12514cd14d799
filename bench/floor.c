/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `floor [CMD ARG ...]`: runs CMD while programs that do nothing are attached to the hot
 * tracepoints. Without CMD they stay attached until a signal ends this program. `floor --exit`:
 * only the program at the end of system calls.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "floor.skel.h"

int main(int argc, char **argv)
{
	bool exit_alone = argc == 2 && strcmp(argv[1], "--exit") == 0;
	struct floor *floor = floor__open();
	int status = 1;
	pid_t child;

	if (floor && exit_alone) {
		bpf_program__set_autoload(floor->progs.sys_enter, false);
		bpf_program__set_autoload(floor->progs.sched_switch, false);
		bpf_program__set_autoload(floor->progs.sched_waking, false);
	}
	if (!floor || floor__load(floor) || floor__attach(floor)) {
		fprintf(stderr, "floor: cannot load programs\n");
		floor__destroy(floor);
		return 1;
	}
	if (argc < 2 || exit_alone) {
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
