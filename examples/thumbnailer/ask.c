// SPDX-License-Identifier: Apache-2.0
#include "ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASK_TIMEOUT_S = 20 };

static int ask_connect(uint16_t port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval limit = {.tv_sec = ASK_TIMEOUT_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* The answer is "yes" or "no". */
static int ask(uint16_t port, const char *line)
{
	char answer[8] = "";
	int fd = ask_connect(port), error = 0;
	size_t size = strlen(line), used = 0;
	ssize_t got = 1;

	if (fd < 0)
		return fd;
	if (send(fd, line, size, MSG_NOSIGNAL) != (ssize_t)size)
		error = -EPIPE;
	while (!error && got > 0 && used < sizeof(answer) - 1 && !memchr(answer, '\n', used)) {
		got = recv(fd, answer + used, sizeof(answer) - 1 - used, 0);
		if (got < 0)
			error = -errno;
		used += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (error)
		return error;
	return strcmp(answer, "yes\n") == 0 ? 0 : -EACCES;
}

int ask_may(uint16_t port, const char *video)
{
	char line[256];

	snprintf(line, sizeof(line), "may %s\n", video);
	return ask(port, line);
}

int ask_slow(uint16_t port, unsigned ms)
{
	char line[32];

	snprintf(line, sizeof(line), "slow %u\n", ms);
	return ask(port, line);
}
