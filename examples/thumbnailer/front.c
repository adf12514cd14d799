// SPDX-License-Identifier: Apache-2.0
#include "front.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "handler.h"
#include "pool.h"

enum {
	EVENTS_MAX = 64,
	DRAIN_BYTES_MAX = 1 << 20,
	PAUSE_MS = 100, /* until accepting is tried again after it had to stop */
};

struct front {
	int epoll;
	int listener;
	int signals;
	int wake; /* an eventfd: `returned` is not empty */
	bool paused;
	bool stopping;
	struct pool *pool;
	struct connection *all;
	unsigned count;
	pthread_mutex_t lock; /* guards `returned` */
	struct connection *returned;
};

static void connection_close(struct front *front, struct connection *connection)
{
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		front->all = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	front->count--;
	close(connection->fd);
	free(connection);
}

/* Waits for the connection's next bytes; one event, so that none comes while a worker has it. */
static void connection_arm(struct front *front, struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = connection};

	if (epoll_ctl(front->epoll, EPOLL_CTL_MOD, connection->fd, &event))
		connection_close(front, connection);
}

/*
 * Says that nothing more will come from here, and reads on for a while: closing a socket with
 * unread bytes would reset the connection and might destroy the answer on its way.
 */
static void connection_drain(struct front *front, struct connection *connection)
{
	shutdown(connection->fd, SHUT_WR);
	connection->state = CONNECTION_DRAINING;
	connection->deadline_ns = http_now_ns() + FRONT_DRAIN_S * INT64_C(1000000000);
	connection->used = 0;
	connection_arm(front, connection);
}

/* Parses what there is; a complete request goes to the pool. */
static void connection_advance(struct front *front, struct connection *connection)
{
	int error = http_parse(connection->bytes, connection->used, &connection->request);

	if (error == -EAGAIN) {
		connection_arm(front, connection);
		return;
	}
	if (error) {
		memset(&connection->request, 0, sizeof(connection->request));
		handler_begin(connection);
		handler_refuse(connection, http_status(error), "not a request that is served here");
		connection_drain(front, connection);
		return;
	}
	handler_begin(connection);
	connection->state = CONNECTION_WORKING;
	if (pool_put(front->pool, connection)) {
		handler_refuse(connection, 503, "too many requests are waiting");
		connection_drain(front, connection);
	}
}

static void connection_read(struct front *front, struct connection *connection)
{
	bool draining = connection->state == CONNECTION_DRAINING;
	size_t used = draining ? 0 : connection->used;
	ssize_t got = recv(connection->fd, connection->bytes + used,
			   sizeof(connection->bytes) - used, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		connection_arm(front, connection);
		return;
	}
	if (got <= 0) {
		connection_close(front, connection);
		return;
	}
	connection->used += (size_t)got;
	if (!draining)
		connection_advance(front, connection);
	else if (connection->used > DRAIN_BYTES_MAX)
		connection_close(front, connection);
	else
		connection_arm(front, connection);
}

/* The connection is to be read again; what came after its last request is the next one. */
static void connection_resume(struct front *front, struct connection *connection)
{
	size_t length = connection->request.length;

	if (!connection->keep) {
		connection_drain(front, connection);
		return;
	}
	connection->used -= length;
	memmove(connection->bytes, connection->bytes + length, connection->used);
	connection->state = CONNECTION_READING;
	connection->deadline_ns = http_now_ns() + FRONT_READ_S * INT64_C(1000000000);
	connection_advance(front, connection);
}

static void returned_take(struct front *front)
{
	struct connection *list;
	eventfd_t count;

	eventfd_read(front->wake, &count);
	pthread_mutex_lock(&front->lock);
	list = front->returned;
	front->returned = NULL;
	pthread_mutex_unlock(&front->lock);
	while (list) {
		struct connection *connection = list;

		list = connection->next_returned;
		connection_resume(front, connection);
	}
}

void front_return(struct front *front, struct connection *connection)
{
	pthread_mutex_lock(&front->lock);
	connection->next_returned = front->returned;
	front->returned = connection;
	pthread_mutex_unlock(&front->lock);
	eventfd_write(front->wake, 1);
}

/* Takes ownership of fd. */
static int connection_open(struct front *front, int fd)
{
	struct connection *connection = malloc(sizeof(*connection));
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = connection};
	int on = 1;

	if (!connection || epoll_ctl(front->epoll, EPOLL_CTL_ADD, fd, &event)) {
		free(connection);
		close(fd);
		return -ENOMEM;
	}
	memset(connection, 0, offsetof(struct connection, bytes));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection->fd = fd;
	connection->state = CONNECTION_READING;
	connection->deadline_ns = http_now_ns() + FRONT_READ_S * INT64_C(1000000000);
	connection->next = front->all;
	if (front->all)
		front->all->previous = connection;
	front->all = connection;
	front->count++;
	return 0;
}

static void accept_arm(struct front *front, bool on)
{
	struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = &front->listener};

	epoll_ctl(front->epoll, EPOLL_CTL_MOD, front->listener, &event);
	front->paused = !on;
}

/* Takes everybody who waits; with no room for more it pauses, or epoll would spin on them. */
static void accept_all(struct front *front)
{
	while (front->count < FRONT_CONNECTIONS_MAX) {
		int fd = accept4(front->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			return;
		if (fd < 0 || connection_open(front, fd))
			break;
	}
	accept_arm(front, false);
}

static void deadlines_check(struct front *front)
{
	int64_t now_ns = http_now_ns();
	struct connection *next;

	for (struct connection *connection = front->all; connection; connection = next) {
		next = connection->next;
		if (connection->state == CONNECTION_WORKING || connection->deadline_ns > now_ns)
			continue;
		if (connection->state == CONNECTION_READING && connection->used) {
			memset(&connection->request, 0, sizeof(connection->request));
			handler_begin(connection);
			handler_refuse(connection, 408, "the request did not come in time");
		}
		connection_close(front, connection);
	}
}

/* Milliseconds until the next thing to do without an event, -1 for never. */
static int wait_ms(const struct front *front)
{
	int64_t now_ns = http_now_ns();
	int64_t least_ns = front->paused ? PAUSE_MS * INT64_C(1000000) : INT64_MAX;

	for (const struct connection *c = front->all; c; c = c->next)
		if (c->state != CONNECTION_WORKING && c->deadline_ns - now_ns < least_ns)
			least_ns = c->deadline_ns - now_ns;
	if (least_ns == INT64_MAX)
		return -1;
	return least_ns < 0 ? 0 : (int)(least_ns / 1000000 + 1);
}

static void event_apply(struct front *front, void *source)
{
	if (source == &front->listener)
		accept_all(front);
	else if (source == &front->wake)
		returned_take(front);
	else if (source == &front->signals)
		front->stopping = true;
	else
		connection_read(front, source);
}

int front_run(struct front *front, struct pool *pool)
{
	struct epoll_event events[EVENTS_MAX];

	front->pool = pool;
	while (!front->stopping) {
		int count = epoll_wait(front->epoll, events, EVENTS_MAX, wait_ms(front));

		if (count < 0 && errno != EINTR)
			return -errno;
		/* An event's connection is still there: only its own event ends it, or what
		 * comes after all of them. */
		for (int i = 0; i < count; i++)
			event_apply(front, events[i].data.ptr);
		deadlines_check(front);
		if (front->paused && front->count < FRONT_CONNECTIONS_MAX)
			accept_arm(front, true);
	}
	return 0;
}

static int listener_open(const char *address, uint16_t port)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found;
	char service[8];
	int on = 1;
	int fd;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found))
		return -EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 128))) {
		int error = errno;

		close(fd);
		fd = -1;
		errno = error;
	}
	freeaddrinfo(found);
	return fd < 0 ? -errno : fd;
}

static int signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int source_add(struct front *front, int *fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};

	return epoll_ctl(front->epoll, EPOLL_CTL_ADD, *fd, &event) ? -errno : 0;
}

int front_open(struct front **out, const char *address, uint16_t port)
{
	struct front *front = calloc(1, sizeof(*front));
	int error = 0;

	if (!front)
		return -ENOMEM;
	pthread_mutex_init(&front->lock, NULL);
	front->epoll = epoll_create1(EPOLL_CLOEXEC);
	front->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (front->epoll < 0 || front->wake < 0)
		error = -errno;
	front->signals = signals_open();
	front->listener = listener_open(address, port);
	if (!error && front->signals < 0)
		error = front->signals;
	if (!error && front->listener < 0)
		error = front->listener;
	if (!error)
		error = source_add(front, &front->wake);
	if (!error)
		error = source_add(front, &front->signals);
	if (!error)
		error = source_add(front, &front->listener);
	if (error) {
		front_close(front);
		return error;
	}
	*out = front;
	return 0;
}

uint16_t front_port(const struct front *front)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(front->listener, (struct sockaddr *)&address, &size))
		return 0;
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

static void descriptor_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void front_close(struct front *front)
{
	if (!front)
		return;
	while (front->all)
		connection_close(front, front->all);
	descriptor_close(front->listener);
	descriptor_close(front->signals);
	descriptor_close(front->wake);
	descriptor_close(front->epoll);
	pthread_mutex_destroy(&front->lock);
	free(front);
}
