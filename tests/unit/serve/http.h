/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HTTP for tests of what serves it. */
#ifndef TESTS_UNIT_SERVE_HTTP_H
#define TESTS_UNIT_SERVE_HTTP_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "serve/address.h"
#include "tests/unit/check.h"

/* A listening socket, and its address. */
static inline int http_listen(union address *address)
{
	char text[SERVE_ADDRESS_BYTES];
	int fd = -1;

	CHECK_EQ(address_parse("127.0.0.1:0", address, NULL), 0);
	CHECK_EQ(address_listen(address, &fd, text, NULL), 0);
	CHECK_EQ(address_parse(text, address, NULL), 0);
	return fd;
}

static inline int http_connect(const union address *address)
{
	const struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, &address->any, sizeof(address->v4)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static inline void http_write(int fd, const void *data, size_t bytes)
{
	CHECK_EQ(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* Reads until the server closes; returns static memory that ends with NUL. */
static inline const char *http_read(int fd)
{
	static char text[1 << 16];
	size_t bytes = 0;
	ssize_t n;

	while (bytes < sizeof(text) - 1 &&
	       (n = recv(fd, text + bytes, sizeof(text) - 1 - bytes, 0)) > 0)
		bytes += (size_t)n;
	text[bytes] = '\0';
	return text;
}

/* The answer to a request, which asks to close the connection: "GET /x HTTP/1.1" and headers. */
static inline const char *http_ask(const union address *address, const char *head, const void *body,
				   size_t bytes)
{
	char text[1024];
	const char *answer;
	int fd = http_connect(address);
	int n = snprintf(text, sizeof(text),
			 "%s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", head, bytes);

	CHECK(n > 0 && (size_t)n < sizeof(text));
	http_write(fd, text, (size_t)n);
	if (bytes)
		http_write(fd, body, bytes);
	answer = http_read(fd);
	close(fd);
	return answer;
}

static inline int http_status(const char *answer)
{
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : -1;
}

#endif
