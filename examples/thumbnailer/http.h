/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1, as much of it as a server of GET requests needs.
 *
 * Why not libmicrohttpd: it sends a response by itself, from its own thread, after the handler
 * has returned. `send` would then be in nobody's span, and the request could not travel through
 * a pool whose hand-over is the thing to be shown. So the bytes are read and written here, with
 * limits that are strict enough to be looked over at a glance:
 *
 *   a head        at most HTTP_HEAD_MAX bytes and HTTP_FIELDS_MAX fields, lines end with CRLF
 *   a body        none: a request that announces one is refused, never skipped
 *   the version   1.0 or 1.1; 1.1 needs exactly one Host
 *   the path      begins with '/', printable ASCII
 *
 * Whatever is malformed is answered once and the connection closed: bytes after it cannot be
 * told apart from a second request that somebody smuggled in.
 */
#ifndef THUMBNAILER_HTTP_H
#define THUMBNAILER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_HEAD_MAX = 8192,
	HTTP_FIELDS_MAX = 64,
};

struct http_field {
	const char *name;
	const char *value;
};

/* Every pointer leads into the buffer that was parsed, and lives as long as it. */
struct http_request {
	const char *method;
	const char *path;
	const char *query; /* "" without one */
	struct http_field fields[HTTP_FIELDS_MAX];
	size_t field_count;
	size_t length; /* bytes of the head, its empty line included */
	bool keep;     /* the connection may carry another request */
};

struct http_response {
	int status;
	bool keep;
	const char *type;
	const char *allow; /* methods that are allowed, with status 405; else NULL */
	const void *body;
	size_t size;
};

/*
 * Parses the head at the begin of bytes[0, size), which it cuts into strings in place.
 * 0: *request is filled; -EAGAIN: the head is not complete, nothing was changed; otherwise what
 * is there can never become a request: -EMSGSIZE (too large), -EPROTONOSUPPORT (version),
 * -EFBIG (has a body), -EBADMSG (anything else).
 */
int http_parse(char *bytes, size_t size, struct http_request *request);

/* The response status for an error of http_parse. */
int http_status(int error);

/* The value of the field (any case), or NULL; of several the first. */
const char *http_field(const struct http_request *request, const char *name);

/*
 * Writes the decoded value of a query parameter to out, with its NUL.
 * -ENOENT: not there; -EINVAL: a bad escape or an escaped NUL, there twice, or too long.
 */
int http_parameter(const struct http_request *request, const char *name, char *out, size_t size);

/*
 * Sends the whole response over a socket that does not block, waiting until deadline_ns
 * (CLOCK_MONOTONIC) at most; 0 never waits. -ETIMEDOUT or the negative errno of the socket.
 */
int http_respond(int fd, const struct http_response *response, int64_t deadline_ns);

/* The time that deadlines are given in: CLOCK_MONOTONIC. */
int64_t http_now_ns(void);

#endif
