/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Unix stream that is in use before the recording begins: 100 bytes are sent, "ready" is said, a
 * line is waited for. Then they are received, which is the first that is seen of the stream, 50
 * are sent and received, both under no span, and ROUNDS times 30 under spans of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <fathom/fathom.h>

static int mine, other;

static void sends(size_t bytes)
{
	char data[100] = {0};

	if (write(mine, data, bytes) != (ssize_t)bytes)
		exit(1);
}

static void receives(size_t bytes)
{
	char data[100];

	if (read(other, data, bytes) != (ssize_t)bytes)
		exit(1);
}

static void under_span(const char *name, void (*moves)(size_t))
{
	struct fathom_span span = fathom_span_begin(name);

	moves(30);
	fathom_span_end(&span);
}

int main(int argc, char **argv)
{
	struct timespec while_it_is_found = {.tv_nsec = 500000000};
	int rounds = argc > 1 ? atoi(argv[1]) : 1, ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	mine = ends[0];
	other = ends[1];
	fathom_init("late");
	under_span("first", sends);
	receives(30);
	sends(100);
	puts("ready");
	fflush(stdout);
	getchar();
	nanosleep(&while_it_is_found, NULL);
	receives(100);
	sends(50);
	receives(50);
	for (int i = 0; i < rounds; i++) {
		under_span("send", sends);
		under_span("receive", receives);
	}
	nanosleep(&while_it_is_found, NULL); /* its spans are read */
	return 0;
}
