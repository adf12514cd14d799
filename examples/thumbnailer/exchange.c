// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

void exchange_init(struct exchange *exchange, const struct exchange_target *target)
{
	*exchange = (struct exchange){.target = target, .fd = -1};
}

static void exchange_disconnect(struct exchange *exchange)
{
	if (exchange->fd >= 0)
		close(exchange->fd);
	exchange->fd = -1;
}

void exchange_close(struct exchange *exchange)
{
	exchange_disconnect(exchange);
	free(exchange->bytes);
	exchange->bytes = NULL;
}

static int exchange_connect(struct exchange *exchange)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(exchange->target->port)};
	struct timeval limit = {.tv_sec = EXCHANGE_TIMEOUT_S};
	int on = 1;
	int error;

	if (inet_pton(AF_INET, exchange->target->address, &to.sin_addr) != 1)
		return -EINVAL;
	exchange->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (exchange->fd < 0)
		return -errno;
	setsockopt(exchange->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(exchange->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(exchange->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!connect(exchange->fd, (struct sockaddr *)&to, sizeof(to)))
		return 0;
	error = -errno;
	exchange_disconnect(exchange);
	return error;
}

static int request_send(const struct exchange *exchange, const char *path, const char *traceparent)
{
	char head[1024];
	size_t sent = 0;
	int length = snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: %s:%u\r\n%s%s%s\r\n",
			      path, exchange->target->address, exchange->target->port,
			      *traceparent ? "traceparent: " : "", traceparent,
			      *traceparent ? "\r\n" : "");

	if (length < 0 || (size_t)length >= sizeof(head))
		return -EMSGSIZE;
	while (sent < (size_t)length) {
		ssize_t part = send(exchange->fd, head + sent, (size_t)length - sent, MSG_NOSIGNAL);

		if (part < 0 && errno != EINTR)
			return -errno;
		sent += part < 0 ? 0 : (size_t)part;
	}
	return 0;
}

/* Makes room for `size` bytes and a NUL. */
static int room_make(struct exchange *exchange, size_t size)
{
	uint8_t *bytes;

	if (size < exchange->room)
		return 0;
	bytes = realloc(exchange->bytes, size + 1);
	if (!bytes)
		return -ENOMEM;
	exchange->bytes = bytes;
	exchange->room = size + 1;
	return 0;
}

/* Appends what has come; *used counts it. */
static int bytes_receive(struct exchange *exchange, size_t *used, size_t limit)
{
	ssize_t got = recv(exchange->fd, exchange->bytes + *used, limit - *used, 0);

	if (got < 0)
		return errno == EINTR ? 0 : errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (!got)
		return -ECONNRESET;
	*used += (size_t)got;
	return 0;
}

/* Reads status, length and whether the connection stays out of a head that ends in NUL. */
static int head_parse(char *head, struct exchange_answer *answer, int *stays)
{
	const char *length = strcasestr(head, "\r\nContent-Length:");
	unsigned long size;
	char *end;

	if (sscanf(head, "HTTP/1.%*1d %3d", &answer->status) != 1 || !length)
		return -EBADMSG;
	size = strtoul(length + strlen("\r\nContent-Length:"), &end, 10);
	if (*end != '\r' || size > EXCHANGE_ANSWER_MAX)
		return -EBADMSG;
	answer->size = size;
	*stays = !strcasestr(head, "\r\nConnection: close\r\n");
	return 0;
}

static int answer_receive(struct exchange *exchange, struct exchange_answer *answer)
{
	struct exchange_answer parsed = {0};
	size_t used = 0;
	size_t head;
	uint8_t *end = NULL;
	int stays = 0;
	int error = room_make(exchange, EXCHANGE_HEAD_MAX);

	while (!error && !end) {
		error = used == EXCHANGE_HEAD_MAX
				? -EMSGSIZE
				: bytes_receive(exchange, &used, EXCHANGE_HEAD_MAX);
		end = error ? NULL : memmem(exchange->bytes, used, "\r\n\r\n", 4);
	}
	if (error)
		return error;
	end[2] = '\0';
	head = (size_t)(end + 4 - exchange->bytes);
	error = head_parse((char *)exchange->bytes, &parsed, &stays);
	if (!error)
		error = room_make(exchange, head + parsed.size);
	while (!error && used < head + parsed.size)
		error = bytes_receive(exchange, &used, head + parsed.size);
	if (error)
		return error;
	/* More than was announced: this connection cannot be trusted any further. */
	if (!stays || used > head + parsed.size)
		exchange_disconnect(exchange);
	parsed.body = exchange->bytes + head;
	*answer = parsed;
	return 0;
}

int exchange_get(struct exchange *exchange, const char *path, const char *traceparent,
		 struct exchange_answer *answer)
{
	int error = exchange->fd < 0 ? exchange_connect(exchange) : 0;

	if (!error)
		error = request_send(exchange, path, traceparent);
	if (!error)
		error = answer_receive(exchange, answer);
	if (error)
		exchange_disconnect(exchange);
	return error;
}
