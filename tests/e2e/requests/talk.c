/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void end_with(const char *what)
{
	perror(what);
	_exit(3);
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int talk_listen(int port)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1024))
		end_with("listen");
	return fd;
}

/* The ports of a connection; those of a Unix socket are 0. */
static struct line line_of(int fd)
{
	struct sockaddr_in ours = {0}, theirs = {0};
	socklen_t a = sizeof(ours), b = sizeof(theirs);
	int yes = 1;

	if (getsockname(fd, (struct sockaddr *)&ours, &a) || ours.sin_family != AF_INET ||
	    getpeername(fd, (struct sockaddr *)&theirs, &b))
		return (struct line){fd, 0, 0};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return (struct line){fd, ntohs(ours.sin_port), ntohs(theirs.sin_port)};
}

struct line talk_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	return fd < 0 ? (struct line){-1, 0, 0} : line_of(fd);
}

struct line talk_connect(int port)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		end_with("connect");
	return line_of(fd);
}

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	return address;
}

int talk_listen_unix(const char *path)
{
	struct sockaddr_un address = unix_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1024))
		end_with(path);
	return fd;
}

struct line talk_connect_unix(const char *path)
{
	struct sockaddr_un address = unix_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		end_with(path);
	return (struct line){fd, 0, 0};
}

static ssize_t move(int fd, void *data, size_t bytes, bool is_sent)
{
	return is_sent ? send(fd, data, bytes, MSG_NOSIGNAL) : recv(fd, data, bytes, 0);
}

ssize_t (*talk_move)(int fd, void *data, size_t bytes, bool is_sent) = move;

void talk_send(const struct line *on, const void *data, size_t bytes)
{
	size_t sent = 0;

	while (sent < bytes) {
		ssize_t n = talk_move(on->fd, (char *)data + sent, bytes - sent, true);

		if (n < 0 && errno != EINTR)
			return;
		sent += n > 0 ? (size_t)n : 0;
	}
}

size_t talk_receive(const struct line *on, char *buffer, size_t size, const char *end)
{
	size_t length = strlen(end), came = 0;

	while (came < size - 1) {
		ssize_t n = talk_move(on->fd, buffer + came, size - 1 - came, false);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		came += (size_t)n;
		buffer[came] = '\0';
		if (came >= length && !memcmp(buffer + came - length, end, length))
			return came;
	}
	return came;
}

int argument(char **args, const char *name)
{
	size_t length = strlen(name);

	for (; *args; args++)
		if (!strncmp(*args, name, length) && (*args)[length] == '=')
			return atoi(*args + length + 1);
	fprintf(stderr, "%s=PORT is missing\n", name);
	_exit(2);
}
