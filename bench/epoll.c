/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `epoll [SAMPLING]`: a small HTTP server on one thread, with a span for each request. Prints
 * its port and serves until SIGTERM. SAMPLING is a value of FATHOM_SAMPLING (1/1000).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fathom/fathom.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64
#define REQUEST_BYTES 4096
#define CONNECTIONS 1024 /* by descriptor */
#define BODY_BYTES 600

struct connection {
	size_t used;
	char request[REQUEST_BYTES];
};

static struct connection *connections[CONNECTIONS];
static char answer[BODY_BYTES + 128];
static size_t answer_bytes;
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = 1;
}

static int listener_open(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)&address, len) || listen(fd, 128) ||
	    getsockname(fd, (void *)&address, &len))
		return -1;
	printf("port %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void answer_make(void)
{
	static char body[BODY_BYTES + 1];

	memset(body, 'x', BODY_BYTES);
	answer_bytes = (size_t)snprintf(answer, sizeof(answer),
					"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s",
					BODY_BYTES, body);
}

static void connection_close(int fd)
{
	free(connections[fd]);
	connections[fd] = NULL;
	close(fd);
}

static void connections_accept(int listener, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (fd < CONNECTIONS)
			connections[fd] = calloc(1, sizeof(struct connection));
		event.data.fd = fd;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (fd >= CONNECTIONS || !connections[fd] ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
			if (fd < CONNECTIONS)
				connection_close(fd);
			else
				close(fd);
		}
	}
}

/* One answer fits into an empty socket buffer. */
static bool request_answer(int fd)
{
	struct fathom_span_options options = {
		.name = "GET", .kind = FATHOM_SERVER, .level = FATHOM_INFO};
	struct fathom_span span = fathom_span_open(&options);
	bool whole = write(fd, answer, answer_bytes) == (ssize_t)answer_bytes;

	fathom_span_end_status(&span, whole ? FATHOM_OK : FATHOM_FAILED, NULL);
	return whole;
}

/* False: the connection has ended. */
static bool connection_serve(int fd)
{
	struct connection *c = connections[fd];
	ssize_t n = read(fd, c->request + c->used, REQUEST_BYTES - 1 - c->used);
	char *end;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->used += (size_t)n;
	c->request[c->used] = '\0';
	while ((end = strstr(c->request, "\r\n\r\n"))) {
		size_t bytes = (size_t)(end + 4 - c->request);

		if (!request_answer(fd))
			return false;
		c->used -= bytes;
		memmove(c->request, end + 4, c->used + 1);
	}
	return c->used < REQUEST_BYTES - 1;
}

static void serve(int listener, int epoll)
{
	struct epoll_event events[EVENTS];

	while (!stopped) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == listener)
				connections_accept(listener, epoll);
			else if (!connection_serve(fd))
				connection_close(fd);
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = stop};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC), listener;

	fathom_init("bench-epoll");
	if (fathom_sampling_set(argc > 1 ? argv[1] : "1/1000")) {
		fprintf(stderr, "usage: epoll [SAMPLING]\n");
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	answer_make();
	listener = listener_open();
	event.data.fd = listener;
	if (epoll < 0 || listener < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) {
		perror("epoll");
		return 1;
	}
	serve(listener, epoll);
	return 0;
}
