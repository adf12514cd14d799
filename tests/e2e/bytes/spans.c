/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves under no span and then under one: spans unix|tcp ROUNDS. Says "ready", waits for a
 * line, sends and receives 50 bytes under no span, and ROUNDS times 30 under spans of their own.
 * The Unix stream is in use before: 100 bytes lie in it, which are received first. The TCP
 * connection is made behind the line.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void makes_stream(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	mine = ends[0];
	other = ends[1];
	sends(100);
}

static void makes_connection(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	mine = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&address, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &len) || connect(mine, (void *)&address, len))
		exit(1);
	other = accept(listener, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct timespec while_it_is_found = {.tv_nsec = 500000000};
	bool tcp = argc == 3 && strcmp(argv[1], "tcp") == 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	struct fathom_span first;

	fathom_init("moves");
	first = fathom_span_begin("first");
	fathom_span_end(&first);
	if (!tcp)
		makes_stream();
	puts("ready");
	fflush(stdout);
	getchar();
	nanosleep(&while_it_is_found, NULL);
	if (tcp)
		makes_connection();
	else
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
