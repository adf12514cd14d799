// SPDX-License-Identifier: Apache-2.0
/*
 * A service that knows nothing of fathom: "may NAME" asks whether a video may be seen, which is
 * always so, and "slow MS" makes each answer take so long from now on. One line a connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SLOW_MAX_MS = 10000, STACK_BYTES = 128 << 10 };

static _Atomic unsigned slow_ms;

static const char usage[] =
	"usage: thumbnailer-rights\n"
	"Says whether a video may be seen, over TCP on loopback: `may NAME` is answered with "
	"`yes`.\n"
	"`slow MS` makes each of these answers take MS milliseconds. Prints `port N` when it is\n"
	"ready. SIGTERM ends it.\n";

static void answer(const char *line, char *out, size_t size)
{
	unsigned ms = atomic_load(&slow_ms);
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	unsigned number;

	snprintf(out, size, "yes\n");
	if (sscanf(line, "slow %u", &number) == 1 && number <= SLOW_MAX_MS)
		atomic_store(&slow_ms, number);
	else if (strncmp(line, "may ", 4) != 0)
		snprintf(out, size, "no\n");
	else if (ms)
		nanosleep(&pause, NULL);
}

static void *connection_serve(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char line[512] = "", out[8];
	size_t used = 0;
	ssize_t got = 1;

	while (got > 0 && used < sizeof(line) - 1 && !memchr(line, '\n', used)) {
		got = recv(fd, line + used, sizeof(line) - 1 - used, 0);
		used += got > 0 ? (size_t)got : 0;
	}
	if (memchr(line, '\n', used)) {
		answer(line, out, sizeof(out));
		send(fd, out, strlen(out), MSG_NOSIGNAL);
	}
	close(fd);
	return NULL;
}

static int listener_open(uint16_t *port)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&here, &size))
		return -errno;
	*port = ntohs(here.sin_port);
	return fd;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	uint16_t port = 0;
	int listener;

	if (argc > 1) {
		bool help = !strcmp(argv[1], "-h") || !strcmp(argv[1], "--help");

		fputs(usage, help ? stdout : stderr);
		return help ? 0 : 2;
	}
	listener = listener_open(&port);
	if (listener < 0) {
		fprintf(stderr, "thumbnailer-rights: %s\n", strerror(-listener));
		return 1;
	}
	printf("port %u\n", port);
	fflush(stdout);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd >= 0 &&
		    pthread_create(&thread, &attributes, connection_serve, (void *)(intptr_t)fd))
			close(fd);
	}
}
