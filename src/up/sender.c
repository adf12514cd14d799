/* SPDX-License-Identifier: Apache-2.0 */
#include "up/sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 10
#define ANSWER_BYTES_MAX 8192

void sender_close(struct sender *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int connect_to(struct sender *s)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (s->fd >= 0)
		return 0;
	if (strlen(s->path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, s->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		int err = -errno;

		close(fd);
		return err;
	}
	s->fd = fd;
	return 0;
}

static int all_send(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Reads an answer, whose body is of no interest. Returns its status, or a negative errno. */
static int answer_read(int fd)
{
	char text[ANSWER_BYTES_MAX + 1];
	size_t have = 0, wanted = 0;
	int status = 0;

	for (;;) {
		ssize_t n = recv(fd, text + have, ANSWER_BYTES_MAX - have, 0);
		char *end, *length;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		have += (size_t)n;
		text[have] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (end && !wanted) {
			length = strcasestr(text, "\r\ncontent-length:");
			wanted = (size_t)(end + 4 - text) +
				 (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
			if (sscanf(text, "HTTP/1.%*d %d", &status) != 1)
				return -EBADMSG;
		}
		if (wanted && have >= wanted)
			return status;
		if (have == ANSWER_BYTES_MAX)
			return -EBADMSG;
	}
}

static int exchange(struct sender *s, const struct bytes *body)
{
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\n"
			 "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
			 body->count);
	int err = connect_to(s);

	err = err ? err : all_send(s->fd, head, (size_t)n);
	err = err ? err : all_send(s->fd, body->data, body->count);
	return err ? err : answer_read(s->fd);
}

int sender_send(struct sender *s, const struct bytes *body, struct error *e)
{
	int status = exchange(s, body);

	if (status >= 200 && status < 300)
		return 0;
	sender_close(s);
	if (status < 0)
		return error_set(e, status, "cannot send spans to serve");
	if (status == 429 || status >= 500)
		return error_say(e, EAGAIN, "serve takes no spans now (status %d)", status);
	return error_say(e, EPROTO, "serve refuses spans (status %d)", status);
}
