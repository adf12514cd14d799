// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

static const char token_extra[] = "!#$%&'*+-.^_`|~";

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_token(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!is_alnum(*text) && !strchr(token_extra, *text))
			return false;
	return true;
}

/* Cuts the line at *cursor off at its CRLF and moves the cursor behind it. */
static char *line_take(char **cursor)
{
	char *line = *cursor;
	char *end = strstr(line, "\r\n");

	if (!end)
		return NULL;
	*end = '\0';
	*cursor = end + 2;
	return line;
}

/* No control character may stay in a line: a lone CR or LF would split it for somebody else. */
static bool line_is_clean(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line == 0x7f || ((unsigned char)*line < 0x20 && *line != '\t'))
			return false;
	return true;
}

static int target_parse(char *target, struct http_request *request)
{
	char *query;

	if (target[0] != '/')
		return -EBADMSG;
	for (const char *c = target; *c; c++)
		if (*c <= ' ' || *c > '~')
			return -EBADMSG;
	query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	request->path = target;
	request->query = query ? query : "";
	return 0;
}

static int request_line_parse(char *line, struct http_request *request)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return -EBADMSG;
	*target++ = '\0';
	*version++ = '\0';
	if (strncmp(version, "HTTP/", 5))
		return -EBADMSG;
	if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0"))
		return -EPROTONOSUPPORT;
	request->method = line;
	request->keep = version[7] == '1';
	if (!is_token(line))
		return -EBADMSG;
	return target_parse(target, request);
}

static int field_parse(char *line, struct http_request *request)
{
	struct http_field *field;
	char *value = strchr(line, ':');
	char *end;

	if (!value)
		return -EBADMSG;
	if (request->field_count == HTTP_FIELDS_MAX)
		return -EMSGSIZE;
	*value++ = '\0';
	/* This also refuses a folded line, whose name would begin with a blank. */
	if (!is_token(line))
		return -EBADMSG;
	value += strspn(value, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	field = &request->fields[request->field_count++];
	field->name = line;
	field->value = value;
	return 0;
}

/* Reads the fields about the request itself: its host, its body, the connection after it. */
static int fields_check(struct http_request *request)
{
	bool old = !request->keep;
	size_t hosts = 0;

	for (size_t i = 0; i < request->field_count; i++) {
		const struct http_field *field = &request->fields[i];

		if (!strcasecmp(field->name, "host"))
			hosts++;
		else if (!strcasecmp(field->name, "transfer-encoding"))
			return -EFBIG;
		else if (!strcasecmp(field->name, "content-length") && strcmp(field->value, "0"))
			return -EFBIG;
		else if (!strcasecmp(field->name, "connection") &&
			 strcasestr(field->value, "close"))
			request->keep = false;
	}
	return hosts == 1 || (old && hosts == 0) ? 0 : -EBADMSG;
}

int http_parse(char *bytes, size_t size, struct http_request *request)
{
	struct http_request parsed = {0};
	char *cursor = bytes;
	char *end = memmem(bytes, size, "\r\n\r\n", 4);
	char *line;
	int error;

	if (!end || end + 4 - bytes > HTTP_HEAD_MAX)
		return end || size >= HTTP_HEAD_MAX ? -EMSGSIZE : -EAGAIN;
	parsed.length = (size_t)(end + 4 - bytes);
	if (memchr(bytes, '\0', parsed.length))
		return -EBADMSG;
	/* The last line keeps its CRLF; the second LF of the empty line becomes the end of all. */
	end[3] = '\0';
	end[2] = '\0';

	line = line_take(&cursor);
	if (!line || !line_is_clean(line))
		return -EBADMSG;
	error = request_line_parse(line, &parsed);
	while (!error && (line = line_take(&cursor)))
		error = line_is_clean(line) ? field_parse(line, &parsed) : -EBADMSG;
	if (!error)
		error = fields_check(&parsed);
	if (error)
		return error;
	*request = parsed;
	return 0;
}

int http_status(int error)
{
	switch (error) {
	case -EMSGSIZE:
		return 431;
	case -EPROTONOSUPPORT:
		return 505;
	case -EFBIG:
		return 413;
	default:
		return 400;
	}
}

const char *http_field(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->field_count; i++)
		if (!strcasecmp(request->fields[i].name, name))
			return request->fields[i].value;
	return NULL;
}

static int hex_value(char c)
{
	const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	if (c < '0')
		return -1;
	return at ? (int)(at - digits) : -1;
}

static int value_decode(const char *text, size_t length, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		char c = text[i] == '+' ? ' ' : text[i];

		if (c == '%') {
			int high = i + 2 < length ? hex_value(text[i + 1]) : -1;
			int low = i + 2 < length ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0 || high + low == 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (used + 1 >= size)
			return -EINVAL;
		out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

int http_parameter(const struct http_request *request, const char *name, char *out, size_t size)
{
	size_t name_length = strlen(name);
	const char *found = NULL;
	size_t found_length = 0;

	for (const char *at = request->query; *at;) {
		size_t length = strcspn(at, "&");

		if (length > name_length && !strncmp(at, name, name_length) &&
		    at[name_length] == '=') {
			if (found)
				return -EINVAL;
			found = at + name_length + 1;
			found_length = length - name_length - 1;
		}
		at += length + (at[length] == '&');
	}
	return found ? value_decode(found, found_length, out, size) : -ENOENT;
}

static const char *status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{200, "OK"},
		{400, "Bad Request"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{408, "Request Timeout"},
		{413, "Content Too Large"},
		{422, "Unprocessable Content"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Unknown";
}

int64_t http_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int socket_wait(int fd, int64_t deadline_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	int64_t left_ns = deadline_ns - http_now_ns();

	if (left_ns <= 0)
		return -ETIMEDOUT;
	/* A millisecond more than is left, so that the last turn does not spin. */
	if (poll(&ready, 1, (int)(left_ns / 1000000 + 1)) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* Takes `sent` bytes off the front of the parts. */
static void parts_advance(struct msghdr *message, size_t sent)
{
	while (message->msg_iovlen && sent >= message->msg_iov->iov_len) {
		sent -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (message->msg_iovlen) {
		message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
		message->msg_iov->iov_len -= sent;
	}
}

int http_respond(int fd, const struct http_response *response, int64_t deadline_ns)
{
	char head[512];
	int length = snprintf(head, sizeof(head),
			      "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			      "%s%s%sConnection: %s\r\n\r\n",
			      response->status, status_text(response->status), response->type,
			      response->size, response->allow ? "Allow: " : "",
			      response->allow ? response->allow : "", response->allow ? "\r\n" : "",
			      response->keep ? "keep-alive" : "close");
	struct iovec parts[] = {
		{.iov_base = head, .iov_len = (size_t)length},
		{.iov_base = (void *)response->body, .iov_len = response->size},
	};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (length < 0 || (size_t)length >= sizeof(head))
		return -EMSGSIZE;
	while (message.msg_iovlen) {
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
		int error = 0;

		if (sent >= 0)
			parts_advance(&message, (size_t)sent);
		else if (errno == EAGAIN)
			error = socket_wait(fd, deadline_ns);
		else if (errno != EINTR)
			error = -errno;
		if (error)
			return error;
	}
	return 0;
}
