/* SPDX-License-Identifier: Apache-2.0 */
#include "up/http_ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S 60
#define ANSWER_BYTES_MAX ((size_t)16 << 20)

/* Parts "[::1]:7070" or "127.0.0.1:7070". */
static bool address_part(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':');
	bool bracket = *address == '[';
	size_t bytes = colon ? (size_t)(colon - address) : 0;

	if (!colon || bytes < (bracket ? 3u : 1u) || bytes >= size)
		return false;
	snprintf(host, size, "%.*s", (int)(bytes - (bracket ? 2 : 0)), address + bracket);
	*port = colon + 1;
	return true;
}

static int connect_to(const char *address)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct addrinfo *found = NULL;
	char host[64];
	const char *port;
	int fd, err = 0;

	if (!address_part(address, host, sizeof(host), &port) ||
	    getaddrinfo(host, port, &hints, &found))
		return -EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
		err = -errno;
	freeaddrinfo(found);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int question_send(int fd, const struct http_question *q)
{
	struct bytes text = {0};
	char line[512];
	int n = snprintf(line, sizeof(line),
			 " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			 "Content-Type: application/json\r\nContent-Length: 0\r\n"),
	    err;

	bytes_put(&text, q->method, strlen(q->method));
	bytes_put_u8(&text, ' ');
	bytes_put(&text, q->path, strlen(q->path));
	bytes_put(&text, line, (size_t)n);
	if (q->token) {
		bytes_put(&text, "Authorization: Bearer ", 22);
		bytes_put(&text, q->token, strlen(q->token));
		bytes_put(&text, "\r\n", 2);
	}
	bytes_put(&text, "\r\n", 2);
	err = text.failed ? -ENOMEM : 0;
	if (!err && send(fd, text.data, text.count, MSG_NOSIGNAL) != (ssize_t)text.count)
		err = errno ? -errno : -EIO;
	bytes_free(&text);
	return err;
}

static int answer_read(int fd, struct bytes *answer)
{
	char piece[16384];
	ssize_t n;

	do {
		n = recv(fd, piece, sizeof(piece), 0);
		if (n > 0)
			bytes_put(answer, piece, (size_t)n);
	} while ((n > 0 && answer->count < ANSWER_BYTES_MAX) || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	bytes_put_u8(answer, 0);
	return answer->failed ? -ENOMEM : 0;
}

/* The status of an answer, whose body is appended. */
static int answer_take(const struct bytes *answer, struct bytes *body)
{
	const char *text = (const char *)answer->data, *end = strstr(text, "\r\n\r\n");
	int status = 0;

	if (!end || sscanf(text, "HTTP/1.%*d %d", &status) != 1)
		return -EBADMSG;
	end += 4;
	bytes_put(body, end, answer->count - 1 - (size_t)(end - text));
	return body->failed ? -ENOMEM : status;
}

int http_ask(const struct http_question *question, struct bytes *body, struct error *e)
{
	struct bytes answer = {0};
	int fd = connect_to(question->address), err;

	if (fd < 0)
		return error_set(e, fd, "cannot ask http://%s", question->address);
	err = question_send(fd, question);
	err = err ? err : answer_read(fd, &answer);
	close(fd);
	err = err ? err : answer_take(&answer, body);
	bytes_free(&answer);
	return err < 0 ? error_set(e, err, "http://%s does not answer", question->address) : err;
}
