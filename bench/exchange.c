/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `exchange tcp|unix N`: sends a message of 64 bytes N times at one end of a connection, and
 * receives it at the other end in the same thread. Prints the CPU time of that.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Measures only this thread's own time, not that of others on its CPU. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int connect_tcp(int fds[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (bind(listener, (void *)&address, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &len))
		return -1;
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fds[0], (void *)&address, len))
		return -1;
	fds[1] = accept(listener, NULL, NULL);
	close(listener);
	return setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1000000;
	int fds[2], unix_stream = argc > 1 && strcmp(argv[1], "unix") == 0;
	char message[64] = {0};
	double begin;

	if (unix_stream ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : connect_tcp(fds)) {
		perror("exchange");
		return 1;
	}
	begin = cpu_ns();
	for (long i = 0; i < n; i++) {
		if (send(fds[0], message, sizeof(message), 0) != sizeof(message) ||
		    recv(fds[1], message, sizeof(message), MSG_WAITALL) != sizeof(message)) {
			perror("exchange");
			return 1;
		}
	}
	printf("ns_per_call %.2f\n", (cpu_ns() - begin) / (double)n);
	return 0;
}
