/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detail-spans SERVICE: until its input ends, calls getppid() outside of spans, getuid() in a span,
 * and in every tenth turn, under no span, getgid() in a child.
 */
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fathom/fathom.h>

#define CALLS 10

static void calls(long number)
{
	for (int i = 0; i < CALLS; i++)
		syscall(number);
}

static void turn(unsigned count)
{
	struct fathom_span span;

	calls(SYS_getppid);
	span = fathom_span_begin("turn");
	calls(SYS_getuid);
	fathom_span_end(&span);
	calls(SYS_getppid);
	if (count % 10)
		return;
	if (fork() == 0) {
		calls(SYS_getgid);
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.events = POLLIN};

	if (argc != 2 || fathom_init(argv[1]))
		return 2;
	for (unsigned count = 0; poll(&input, 1, 2) == 0; count++)
		turn(count);
	return 0;
}
